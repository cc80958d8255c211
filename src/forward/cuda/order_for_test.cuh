// Walks in a deterministic exchange, and the order in which items must arrive.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "forward/cuda/walks_for_test.cuh"
#include "godwit/cuda/exchange.cuh"

namespace godwit::cuda {

// What rank `to` must find in a deterministic exchange after `round`, said by going through it.
inline std::vector<std::uint32_t> expected_order(Rank ranks, std::uint32_t walks,
                                                 std::uint32_t hops, std::uint32_t round, Rank to) {
  std::vector<std::vector<std::uint32_t>> queues(static_cast<std::size_t>(ranks));
  for (std::uint32_t at = 0; at <= round; ++at) {
    std::vector<std::vector<std::uint32_t>> next(queues.size());
    for (Rank source = 0; source < ranks; ++source) {
      const auto put = [&](std::uint32_t serial, Rank where) {
        next[static_cast<std::size_t>(where)].push_back(
            serial << 9 | static_cast<std::uint32_t>(source) << 3 | (hops - at));
      };
      if (at == 0) {
        for (std::uint32_t i = 0; i < walks; ++i) {
          put(i, next_rank(Pattern::burst, i, source, ranks));
        }
        continue;
      }
      for (const std::uint32_t word : queues[static_cast<std::size_t>(source)]) {
        const Rank where = next_rank(Pattern::burst, word, source, ranks);
        put(word >> 9, where);
        put((word >> 9) + 1, (where + 1) % ranks);
        put((word >> 9) + 2, source);
      }
    }
    queues = std::move(next);
  }
  return queues[static_cast<std::size_t>(to)];
}

static __global__ void copy_first_words(DeviceView<Walker<20>> walkers, std::uint32_t* words) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < walkers.incoming_count(); i += all) {
    words[i] = walkers.incoming(i).words[0];
  }
}

// A part of the walks: from what is saved in a folder, if anything is, up to a round that is saved
// there.
struct Leg {
  std::string folder = {};
  std::uint64_t stops_at = 0;  // 0: at the end
};

// Walks that triple at each step; after each of the first rounds a rank's items must be in order.
inline Status walk_in_order(Group& group, const Ledger& ledger, std::uint32_t walks,
                            const Leg& leg = {}) {
  constexpr std::uint32_t kHops = 3;
  auto exchange = Exchange<Walker<20>>::create(
      group, {.queue_bytes = std::size_t{64} << 20, .deterministic = true});
  if (!exchange) return tl::unexpected(exchange.error());
  const auto resumed = leg.folder.empty() ? Result<std::uint64_t>(0) : exchange->resume(leg.folder);
  if (!resumed) return tl::unexpected(resumed.error());
  if (*resumed == 0) {
    auto begun = exchange->launch(walks, Begin<20>{ledger, Pattern::burst, kHops});
    if (!begun) return begun;
  }
  for (std::uint64_t number = *resumed == 0 ? 1 : *resumed; number <= kHops; ++number) {
    const auto round = exchange->advance();
    if (!round) return tl::unexpected(round.error());
    if (round->number != number) return tl::unexpected(Error{ErrorCode::internal, "misnumbered"});
    if (number == leg.stops_at) return exchange->checkpoint(leg.folder);
    const auto expected = expected_order(group.ranks(), walks, kHops,
                                         static_cast<std::uint32_t>(number - 1), group.rank());
    std::uint32_t* words = nullptr;
    std::vector<std::uint32_t> found(round->incoming);
    const std::size_t bytes = found.size() * sizeof *words;
    if (cudaMalloc(&words, bytes) != cudaSuccess) {
      return tl::unexpected(Error{ErrorCode::out_of_memory, "no room for a copy"});
    }
    copy_first_words<<<64, 128, 0, exchange->stream()>>>(exchange->device(), words);
    cudaStreamSynchronize(exchange->stream());
    cudaMemcpy(found.data(), words, bytes, cudaMemcpyDeviceToHost);
    cudaFree(words);
    if (found != expected) return tl::unexpected(Error{ErrorCode::internal, "out of order"});
    if (auto stepped = exchange->process(Step{ledger, Pattern::burst}); !stepped) return stepped;
  }
  auto report = exchange->run(Step{ledger, Pattern::burst});
  if (!report) return tl::unexpected(report.error());
  return {};
}

}  // namespace godwit::cuda
