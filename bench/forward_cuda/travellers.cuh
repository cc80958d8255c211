// What the benchmarks of forwarding on a GPU share: items that go to a random rank in every round,
// the copy that they are beside, and how many of them there are.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

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

// In all ranks together, from what fits a block's memory to what exceeds any cache.
constexpr std::array<std::uint64_t, 6> kCounts{1'000,     10'000,     100'000,
                                               1'000'000, 10'000'000, 100'000'000};

constexpr std::uint64_t kGoal = std::uint64_t{4} << 23;  // 4 x 8 M

// Calls show_size(std::integral_constant) for each size of an item that is measured. Whether all
// were good.
template <class ShowSize>
bool show_sizes(const ShowSize& show_size) {
  bool good = show_size(std::integral_constant<std::size_t, 20>{});
  good = show_size(std::integral_constant<std::size_t, 32>{}) && good;
  good = show_size(std::integral_constant<std::size_t, 48>{}) && good;
  good = show_size(std::integral_constant<std::size_t, 64>{}) && good;
  return show_size(std::integral_constant<std::size_t, 128>{}) && good;
}

// For both rounds that are held at once, and for what random numbers are uneven by.
constexpr std::size_t queue_bytes_for(std::uint64_t per_rank, std::size_t item_bytes) {
  return 2 * per_rank * item_bytes * 11 / 10 + (std::size_t{8} << 20);
}

inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Microseconds of a device-to-device copy; the median of a few. 0: the GPU has no room for it.
inline double copy_us(std::size_t bytes) {
  void* from = nullptr;
  void* to = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<double> times{0};
  if (cudaMalloc(&from, bytes) == cudaSuccess && cudaMalloc(&to, bytes) == cudaSuccess &&
      cudaStreamCreate(&stream) == cudaSuccess) {
    times.clear();
    cudaMemsetAsync(from, 1, bytes, stream);
    const int repeats = bytes < (std::size_t{64} << 20) ? 50 : 5;
    for (int i = 0; i < 5; ++i) {
      cudaStreamSynchronize(stream);
      const auto begin = Clock::now();
      for (int k = 0; k < repeats; ++k) {
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
      }
      cudaStreamSynchronize(stream);
      times.push_back(us_since(begin) / repeats);
    }
    std::sort(times.begin(), times.end());
    cudaStreamDestroy(stream);
  }
  cudaFree(from);
  cudaFree(to);
  return times[times.size() / 2];
}

}  // namespace godwit::bench
