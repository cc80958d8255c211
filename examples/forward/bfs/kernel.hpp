// The kernel: a vertex that is reached for the first time sends a visit to each of its neighbours.
#pragma once

#include <cstdint>

#include "common/atomics.hpp"
#include "godwit/kernel.hpp"

namespace gallery::bfs {

inline constexpr std::uint32_t kUnreached = 0xffff'ffff;

struct Visit {
  std::uint32_t vertex = 0;
};

// Emits the first visit.
struct Begin {
  std::uint32_t root = 0;

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t /*index*/, Out& out) const {
    out.emit(Visit{root},
             static_cast<godwit::Rank>(root % static_cast<std::uint32_t>(out.ranks())));
  }
};

struct Expand {
  const std::uint32_t* begin = nullptr;  // of LocalGraph
  const std::uint32_t* neighbours = nullptr;
  std::uint32_t* levels = nullptr;  // of this rank's vertices
  std::uint32_t level = 0;          // of this round

  template <class Out>
  GODWIT_KERNEL void operator()(const Visit& visit, Out& out) const {
    const auto ranks = static_cast<std::uint32_t>(out.ranks());
    const std::uint32_t local = visit.vertex / ranks;
    // Many visits may come to one vertex, also at once, in several threads. The first counts.
    if (!claim(levels[local], kUnreached, level)) return;
    for (std::uint32_t i = begin[local]; i < begin[local + 1]; ++i) {
      out.emit(Visit{neighbours[i]}, static_cast<godwit::Rank>(neighbours[i] % ranks));
    }
  }
};

}  // namespace gallery::bfs
