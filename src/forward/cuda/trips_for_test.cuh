// Travellers whose account is saved with them, so that a trip that goes on from a checkpoint must
// come to what a whole one comes to, wherever its ranks are and however many.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "forward/cuda/places_for_test.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"

namespace godwit::cuda {

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status{} : tl::unexpected(result.error());
}

struct Fare {
  std::uint32_t amount;
};

// What was seen on a rank, or on all.
struct Account4 {
  unsigned long long items = 0;
  unsigned long long hashes = 0;
  unsigned long long torn = 0;
  unsigned long long fares = 0;
  bool operator==(const Account4&) const = default;
  friend Account4 operator+(Account4 a, const Account4& b) {
    return {a.items + b.items, a.hashes + b.hashes, a.torn + b.torn, a.fares + b.fares};
  }
};

// A traveller's first word tells all of it: the hops left (3 bits), where it set out, its number.
template <std::size_t size, class Out>
GODWIT_KERNEL void send_on(std::uint32_t word, Pattern pattern, Out& out) {
  Walker<size> walker;
  walker.words[0] = word;
  for (std::uint32_t i = 1; i < size / 4; ++i) walker.words[i] = mix(word + i);
  out.emit(walker, next_rank(pattern, word, out.rank(), out.ranks()));
}

struct SetOut {
  Pattern pattern;
  std::uint32_t hops;
  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    const auto origin = static_cast<std::uint32_t>(out.rank());
    send_on<64>(static_cast<std::uint32_t>(index) << 9 | origin << 3 | hops, pattern, out);
  }
};

// Pays the next rank, and goes on; those of odd numbers as small ones.
struct TravelOn {
  Account4* account;
  Pattern pattern;
  template <std::size_t size, class Out>
  GODWIT_KERNEL void operator()(const Walker<size>& walker, Out& out) const {
    const std::uint32_t word = walker.words[0];
    bool whole = true;
    for (std::uint32_t i = 1; i < size / 4; ++i) whole = whole && walker.words[i] == mix(word + i);
    Ledger::add(account->items, 1);
    Ledger::add(account->hashes, mix(word));
    if (!whole) Ledger::add(account->torn, 1);
    out.emit(Fare{3}, (out.rank() + 1) % out.ranks());
    if ((word & 7) == 0) return;
    if ((word >> 9) % 2 == 1) {
      send_on<20>(word - 1, pattern, out);
    } else {
      send_on<64>(word - 1, pattern, out);
    }
  }
};

struct Collect {
  Account4* account;
  GODWIT_KERNEL void operator()(const Fare& fare) const {
    Ledger::add(account->fares, fare.amount);
  }
};

struct Trip {
  std::string_view letters = "gg";
  std::string folder = {};
  std::uint64_t resumes_at = 0;  // the round that must be saved there; 0: it sets out
  std::uint64_t each = 3'000;    // of a rank
  std::uint32_t hops = 5;
  std::uint64_t saves_every = 0;  // rounds
  Pattern pattern = Pattern::uniform;
  Options gpu = {.queue_bytes = 32 << 20};
  std::function<void()> at_save = [] {};  // on ranks on a GPU

  [[nodiscard]] RunOptions run() const {
    return {.checkpoint_folder = folder,
            .checkpoint_interval = std::chrono::milliseconds(0),
            .checkpoint_every = saves_every};
  }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(letters.size()); }
  // By as many ranks as set out.
  [[nodiscard]] Account4 expected(Rank ranks_at_first) const {
    Account4 all;
    for (std::uint32_t origin = 0; origin < static_cast<std::uint32_t>(ranks_at_first); ++origin) {
      for (std::uint32_t i = 0; i < each; ++i) {
        for (std::uint32_t left = 0; left <= hops; ++left) {
          all = all + Account4{1, mix(i << 9 | origin << 3 | left), 0, 3};
        }
      }
    }
    return all;
  }
};

// Goes on by a route that knows nothing of where items were, unless the trip begins.
template <class TheExchange>
Status resume_trip(TheExchange& exchange, const Trip& trip) {
  if (trip.resumes_at == 0) return {};
  const auto round = exchange.resume(trip.folder, [&](const auto& item, Rank) {
    if constexpr (sizeof item == sizeof(Fare)) {
      return Rank{0};
    } else {
      return next_rank(trip.pattern, item.words[0], 0, exchange.ranks());
    }
  });
  if (round) EXPECT_EQ(*round, trip.resumes_at);
  return status_of(round);
}

// What a rank on a CPU travels with.
class CpuTraveller {
 public:
  using TheExchange = godwit::Exchange<Walker<64>, Reduced<Fare>, Walker<20>>;

  static Result<std::unique_ptr<CpuTraveller>> create(Group& group, const Trip& trip) {
    auto exchange = TheExchange::create(group, {.trace_events = trip.gpu.trace_events});
    if (!exchange) return tl::unexpected(exchange.error());
    return std::unique_ptr<CpuTraveller>(new CpuTraveller(*std::move(exchange)));
  }
  // Everything but the kernels.
  Status begin(const Trip& trip) {
    exchange.template reduce<Fare>(Collect{&account});
    exchange.keep(account, std::plus<>());
    if (trip.resumes_at > 0) return resume_trip(exchange, trip);
    const SetOut set_out{trip.pattern, trip.hops};
    for (std::uint64_t i = 0; i < trip.each; ++i) set_out(i, exchange);
    return {};
  }
  Status process(const Trip& trip) {
    exchange.process(TravelOn{&account, trip.pattern});
    return {};
  }
  [[nodiscard]] Account4* place() { return &account; }
  [[nodiscard]] Account4 read() const { return account; }

  TheExchange exchange;
  Account4 account;

 private:
  explicit CpuTraveller(TheExchange made) : exchange(std::move(made)) {}
};

// An account in the GPU's memory.
class AccountOnGpu {
 public:
  AccountOnGpu() {
    EXPECT_EQ(cudaMalloc(&account_, sizeof *account_), cudaSuccess);
    write({});
  }
  ~AccountOnGpu() { cudaFree(account_); }
  AccountOnGpu(const AccountOnGpu&) = delete;
  AccountOnGpu& operator=(const AccountOnGpu&) = delete;

  [[nodiscard]] Account4* get() const { return account_; }
  [[nodiscard]] Account4 read() const {
    Account4 here;
    EXPECT_EQ(cudaMemcpy(&here, account_, sizeof here, cudaMemcpyDefault), cudaSuccess);
    return here;
  }
  void write(const Account4& here) const {
    EXPECT_EQ(cudaMemcpy(account_, &here, sizeof here, cudaMemcpyDefault), cudaSuccess);
  }

 private:
  Account4* account_ = nullptr;
};

// What a rank on a GPU travels with.
class GpuTraveller {
 public:
  using TheExchange = Exchange<Walker<64>, Reduced<Fare>, Walker<20>>;

  static Result<std::unique_ptr<GpuTraveller>> create(Group& group, const Trip& trip) {
    Options options = trip.gpu;
    options.team = Places(trip.letters).team(group.rank());
    auto exchange = TheExchange::create(group, options);
    if (!exchange) return tl::unexpected(exchange.error());
    return std::unique_ptr<GpuTraveller>(new GpuTraveller(*std::move(exchange)));
  }
  // Everything but the kernels.
  Status begin(const Trip& trip) {
    exchange.template reduce<Fare>(Collect{account.get()});
    exchange.keep(
        [this, at_save = trip.at_save] {
          at_save();
          const Account4 here = account.read();
          const auto bytes = std::as_bytes(std::span(&here, 1));
          return std::vector<std::byte>(bytes.begin(), bytes.end());
        },
        [this](std::span<const std::byte> saved, Rank) {
          Account4 theirs;
          std::memcpy(&theirs, saved.data(), sizeof theirs);
          account.write(account.read() + theirs);
        });
    if (trip.resumes_at > 0) return resume_trip(exchange, trip);
    return exchange.launch(trip.each, SetOut{trip.pattern, trip.hops});
  }

  Status process(const Trip& trip) {
    return exchange.process(TravelOn{account.get(), trip.pattern});
  }
  [[nodiscard]] Account4* place() { return account.get(); }
  [[nodiscard]] Account4 read() const { return account.read(); }

  TheExchange exchange;
  AccountOnGpu account;

 private:
  explicit GpuTraveller(TheExchange made) : exchange(std::move(made)) {}
};

// One rank's part of a trip; adds to the account.
template <class Traveller>
Status travel_as(Group& group, const Trip& trip, Account4& sum) {
  const auto traveller = Traveller::create(group, trip);
  if (!traveller) return status_of(traveller);
  if (Status begun = (*traveller)->begin(trip); !begun) return begun;
  const TravelOn on{(*traveller)->place(), trip.pattern};
  const auto ran = (*traveller)->exchange.run(on, trip.run());
  sum = sum + (*traveller)->read();
  return status_of(ran);
}
// Wherever it is.
inline Status travel(Group& group, const Trip& trip, Account4& sum) {
  return Places(trip.letters).on_cpu(group.rank()) ? travel_as<CpuTraveller>(group, trip, sum)
                                                   : travel_as<GpuTraveller>(group, trip, sum);
}

}  // namespace godwit::cuda
