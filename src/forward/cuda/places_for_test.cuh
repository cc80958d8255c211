// Walks of ranks of which some are on CPUs and some on a GPU, in several teams: with the same walks
// everywhere, all must come to the same.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "forward/cuda/walks_for_test.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"

namespace godwit::cuda {

// Where ranks are, a letter for each: c, a CPU; g, h, ..., the GPU, in teams.
class Places {
 public:
  explicit Places(std::string_view letters) : letters_(letters) {}
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(letters_.size()); }
  [[nodiscard]] bool on_cpu(Rank rank) const { return letter(rank) == 'c'; }
  [[nodiscard]] std::uint32_t team(Rank rank) const {
    return static_cast<std::uint32_t>(letter(rank) - 'g');
  }

 private:
  [[nodiscard]] char letter(Rank rank) const { return letters_[static_cast<std::size_t>(rank)]; }
  std::string_view letters_;
};

// Accounts of pairs, in the host's memory: sent, then arrived.
using Books = std::vector<Account>;

inline void add_books(Books& sum, const Books& more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    Ledger::add(sum[i].items, more[i].items);
    Ledger::add(sum[i].hashes, more[i].hashes);
    Ledger::add(sum[i].torn, more[i].torn);
  }
}

// Items that were sent; all must have arrived, whole, for their pair.
inline std::uint64_t check_books(const Books& books) {
  const std::size_t pairs = books.size() / 2;
  std::uint64_t sent = 0;
  EXPECT_EQ(books[pairs].torn, 0u);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    EXPECT_EQ(books[pair].items, books[pairs + pair].items) << "pair " << pair;
    EXPECT_EQ(books[pair].hashes, books[pairs + pair].hashes) << "pair " << pair;
    sent += books[pair].items;
  }
  return sent;
}

struct Walks {
  Pattern pattern = Pattern::uniform;
  std::uint64_t each = 5'000;  // of a rank
  std::uint32_t hops = 3;
};

template <std::size_t size>
Status walk_on_cpu(Group& group, const Walks& walks, const ExchangeOptions& options, Books& books) {
  const Ledger ledger{.sent = books.data(), .arrived = books.data() + books.size() / 2};
  auto exchange = godwit::Exchange<Walker<size>>::create(group, options);
  if (!exchange) return tl::unexpected(exchange.error());
  const Begin<size> begin{ledger, walks.pattern, walks.hops};
  for (std::uint64_t i = 0; i < walks.each; ++i) begin(i, *exchange);
  auto report = exchange->run(Step{ledger, walks.pattern});
  if (!report) return tl::unexpected(report.error());
  return {};
}

template <std::size_t size>
Status walk_on_gpu(Group& group, const Walks& walks, const Options& options, Books& books) {
  const std::size_t bytes = books.size() * sizeof(Account);
  struct Free {
    void operator()(Account* memory) const { cudaFree(memory); }
  };
  auto exchange = Exchange<Walker<size>>::create(group, options);
  if (!exchange) return tl::unexpected(exchange.error());
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemset(memory, 0, bytes) != cudaSuccess ||
      cudaDeviceSynchronize() != cudaSuccess) {
    return tl::unexpected(Error{ErrorCode::out_of_memory, "no ledger"});
  }
  const std::unique_ptr<Account, Free> accounts(static_cast<Account*>(memory));
  const Ledger ledger{.sent = accounts.get(), .arrived = accounts.get() + books.size() / 2};
  auto begun = exchange->launch(walks.each, Begin<size>{ledger, walks.pattern, walks.hops});
  if (!begun) return begun;
  auto report = exchange->run(Step{ledger, walks.pattern});
  if (!report) return tl::unexpected(report.error());
  Books mine(books.size());
  if (cudaMemcpy(mine.data(), accounts.get(), bytes, cudaMemcpyDefault) != cudaSuccess) {
    return tl::unexpected(Error{ErrorCode::internal, "the ledger cannot be read"});
  }
  add_books(books, mine);
  return {};
}

// One rank's part, wherever it is.
template <std::size_t size>
Status walk_at(const Places& places, Group& group, const Walks& walks, Options options,
               Books& books) {
  if (places.on_cpu(group.rank())) return walk_on_cpu<size>(group, walks, {}, books);
  options.team = places.team(group.rank());
  return walk_on_gpu<size>(group, walks, options, books);
}

}  // namespace godwit::cuda
