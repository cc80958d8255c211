// Forwarding on one GPU with ranks as threads of one process: how many items move per second, and
// how long a round takes, beside a plain copy of the same bytes in the same run.
//
//   bench_forward_cuda [--quick]
//
// A round reads every incoming item and emits it to a random rank. A line per number of ranks, item
// size and number of items: the copy; rounds of run(); rounds of process() and advance() with one
// thread per rank. First the lines that goals and figures of RaFI are of; then ranks that do not
// share the GPU's queues, and checkpoints; then (not --quick) 2, 4 and 8 ranks, 20 to 128 bytes,
// 10^3 to 10^8 items.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "forward_cuda/mixed.cuh"
#include "forward_cuda/saving.cuh"
#include "forward_cuda/travellers.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/group.hpp"

namespace {

using godwit::Rank;
using godwit::Status;
using godwit::bench::Clock;
using godwit::bench::copy_us;
using godwit::bench::Depart;
using godwit::bench::Hop;
using godwit::bench::kGoal;
using godwit::bench::Traveller;
using godwit::bench::us_since;

struct Point {
  double run_us = 0;    // a round of run()
  double round_us = 0;  // a round of process() and advance()
};

// Rank 0 measures; the others take part.
template <std::size_t size>
Status measure(godwit::Group& group, std::uint64_t per_rank, std::size_t queue_bytes,
               Point& point) {
  const std::uint32_t rounds = per_rank < 200'000 ? 400 : 10;
  auto made = godwit::cuda::Exchange<Traveller<size>>::create(group, {.queue_bytes = queue_bytes});
  if (!made) return tl::unexpected(made.error());
  auto& exchange = *made;
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (auto begun = exchange.launch(per_rank, Depart<size>{rounds}); !begun) return begun;
    if (auto round = exchange.advance(); !round) return tl::unexpected(round.error());
    const auto begin = Clock::now();
    const auto report = exchange.run(Hop{});
    if (!report) return tl::unexpected(report.error());
    const double us = us_since(begin) / rounds;
    if (group.rank() == 0) point.run_us = repeat == 0 ? us : std::min(us, point.run_us);
  }
  for (int repeat = 0; repeat < 2; ++repeat) {
    if (auto begun = exchange.launch(per_rank, Depart<size>{rounds}); !begun) return begun;
    auto round = exchange.advance();
    const auto begin = Clock::now();
    while (round && round->alive > 0) {
      if (auto processed = exchange.process(Hop{}); !processed) return processed;
      round = exchange.advance();
    }
    if (!round) return tl::unexpected(round.error());
    const double us = us_since(begin) / rounds;
    if (group.rank() == 0) point.round_us = repeat == 0 ? us : std::min(us, point.round_us);
  }
  return {};
}

template <std::size_t size>
bool show(Rank ranks, std::uint64_t all) {
  const std::uint64_t per_rank = all / static_cast<std::uint64_t>(ranks);
  const std::size_t bytes = all * size;
  const std::size_t queue_bytes = godwit::bench::queue_bytes_for(per_rank, size);
  const double copy = copy_us(bytes);
  Point point;
  const Status done = godwit::run_ranks(ranks, [&](godwit::Group& group) {
    return measure<size>(group, per_rank, queue_bytes, point);
  });
  if (!done) {
    std::printf("%5d %5zu %10llu  %s\n", ranks, size, static_cast<unsigned long long>(all),
                done.error().message.c_str());
    return false;
  }
  const auto rate = [&](double us) { return static_cast<double>(all) / us / 1e3; };
  std::printf("%5d %5zu %10llu  %9.1f %7.2f   %9.1f %7.2f %5.2f   %9.1f %7.2f\n", ranks, size,
              static_cast<unsigned long long>(all), copy, rate(copy), point.run_us,
              rate(point.run_us), point.run_us / copy, point.round_us, rate(point.round_us));
  std::fflush(stdout);
  return true;
}

__global__ void hop_kernel(godwit::cuda::DeviceView<Traveller<64>> travellers) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < travellers.incoming_count(); i += all) {
    Hop{}(travellers.incoming(i), travellers);
  }
}

// The other ways to forward: a kernel of one's own, and items in order. 64 bytes, 4 ranks.
bool show_ways(std::uint64_t all) {
  constexpr std::uint32_t kRounds = 5;
  double own_us = 0;
  double ordered_us = 0;
  const auto measure_ways = [&](godwit::Group& group) -> Status {
    for (const bool deterministic : {false, true}) {
      const std::size_t bytes = all / 4 * 64 * 5 / 2 + (std::size_t{8} << 20);
      auto made = godwit::cuda::Exchange<Traveller<64>>::create(
          group, {.queue_bytes = bytes, .deterministic = deterministic});
      if (!made) return tl::unexpected(made.error());
      if (auto begun = made->launch(all / 4, Depart<64>{kRounds}); !begun) return begun;
      auto round = made->advance();
      const auto begin = Clock::now();
      while (round && round->alive > 0) {
        if (deterministic) {
          if (auto processed = made->process(Hop{}); !processed) return processed;
        } else {
          hop_kernel<<<1056, 256, 0, made->stream()>>>(made->device());
        }
        round = made->advance();
      }
      if (!round) return tl::unexpected(round.error());
      if (group.rank() == 0) (deterministic ? ordered_us : own_us) = us_since(begin) / kRounds;
    }
    return {};
  };
  if (const Status done = godwit::run_ranks(4, measure_ways); !done) {
    std::printf("%s\n", done.error().message.c_str());
    return false;
  }
  const auto rate = [&](double us) { return static_cast<double>(all) / us / 1e3; };
  std::printf(
      "4 ranks, 64 bytes, %llu items: a kernel of one's own %.1f us, %.2f G/s; "
      "deterministic %.1f us, %.2f G/s\n",
      static_cast<unsigned long long>(all), own_us, rate(own_us), ordered_us, rate(ordered_us));
  return true;
}

template <std::size_t size>
bool show_all() {
  bool good = true;
  for (const Rank ranks : {2, 4, 8}) {
    for (const std::uint64_t items : godwit::bench::kCounts)
      good = show<size>(ranks, items) && good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("no GPU here");
    return 77;
  }
  cudaDeviceProp gpu{};
  cudaGetDeviceProperties(&gpu, 0);
  std::printf(
      "%s\n                        copy               run()                     "
      "process(), advance()\n"
      "ranks bytes      items         us G/s             us     G/s copies          us    "
      " G/s\n",
      gpu.name);
  bool good = show<64>(4, kGoal);
  good = show<64>(4, 10'000) && good;
  // Where there are figures of RaFI.
  good = show<32>(4, kGoal) && good;
  good = show<128>(4, kGoal) && good;
  good = show<64>(4, 40'000) && good;
  good = show<64>(4, 4'000'000) && good;
  good = show<64>(2, 2'000'000) && good;
  good = show<64>(8, 8'000'000) && good;
  good = show_ways(kGoal) && good;
  good = show_ways(10'000) && good;
  good = godwit::bench::show_mixed() && good;
  good = godwit::bench::show_saving(4'000) && good;
  good = godwit::bench::show_saving(kGoal) && good;
  if (quick) return good ? 0 : 1;
  const auto all_of = [](auto size) { return show_all<decltype(size)::value>(); };
  good = godwit::bench::show_sizes(all_of) && good;
  return good ? 0 : 1;
}
