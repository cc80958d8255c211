// The items of the benchmarks of forwarding: they go to a random rank in every round.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "godwit/kernel.hpp"

namespace godwit::bench {

using Clock = std::chrono::steady_clock;

template <std::size_t size>
struct Traveller {
  std::uint32_t state;
  std::uint32_t hops;
  std::uint32_t cargo[size / 4 - 2];
};

struct Hop {
  template <std::size_t size, class Out>
  GODWIT_KERNEL void operator()(const Traveller<size>& traveller, Out& out) const {
    if (traveller.hops == 0) return;
    Traveller<size> next = traveller;
    next.state = traveller.state * 1664525u + 1013904223u;
    next.hops = traveller.hops - 1;
    next.cargo[0] ^= next.state;
    const std::uint64_t scaled =
        std::uint64_t{next.state} * static_cast<std::uint32_t>(out.ranks());
    out.emit(next, static_cast<Rank>(scaled >> 32));
  }
};

template <std::size_t size>
struct Depart {
  std::uint32_t hops;
  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    Traveller<size> traveller{};
    traveller.state =
        static_cast<std::uint32_t>(index * 2654435761u) + static_cast<std::uint32_t>(out.rank());
    traveller.hops = hops;
    out.emit(traveller, out.rank());
  }
};

inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace godwit::bench
