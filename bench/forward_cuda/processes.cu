// Forwarding on one GPU with ranks as processes: how long a round takes, beside what processes that
// share a GPU cannot avoid, measured in the same run.
//
//   bench_forward_cuda_processes
//
// Floor: each process launches two empty kernels, waits for them, and meets the others at a counter
// in shared memory. Without MPS the processes take turns on the GPU; with it they share it.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "forward/cuda/forked_group_for_test.hpp"
#include "forward_cuda/travellers.cuh"
#include "godwit/cuda/exchange.cuh"

namespace {

using godwit::Rank;
using godwit::Status;
using godwit::bench::Clock;
using godwit::bench::Depart;
using godwit::bench::Hop;
using godwit::bench::Traveller;
using godwit::bench::us_since;

// What the processes share: rank 0's figures, and the counter that they meet at.
struct Figures {
  std::atomic<std::uint64_t> arrivals;
  double floor_us;
  double run_us;
  double round_us;
};

__global__ void nothing() {}

void meet(Figures& figures, std::uint64_t number, Rank ranks) {
  figures.arrivals.fetch_add(1);
  while (figures.arrivals.load() < number * static_cast<std::uint64_t>(ranks)) {
  }
}

double floor_us(Figures& figures, Rank ranks) {
  constexpr std::uint64_t kRounds = 100;
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const auto round = [&](std::uint64_t number) {
    nothing<<<1, 32, 0, stream>>>();
    nothing<<<1, 32, 0, stream>>>();
    cudaStreamSynchronize(stream);
    meet(figures, number, ranks);
  };
  for (std::uint64_t i = 1; i <= 10; ++i) round(i);
  const auto begin = Clock::now();
  for (std::uint64_t i = 1; i <= kRounds; ++i) round(10 + i);
  const double us = us_since(begin) / kRounds;
  cudaStreamDestroy(stream);
  return us;
}

template <std::size_t size>
Status measure(godwit::Group& group, std::uint64_t per_rank, Figures& figures) {
  const std::uint32_t rounds = per_rank < 200'000 ? 100 : 6;
  const std::size_t queue_bytes = 2 * per_rank * size * 11 / 10 + (std::size_t{8} << 20);
  cudaSetDevice(0);
  const double floor = floor_us(figures, group.ranks());
  auto made = godwit::cuda::Exchange<Traveller<size>>::create(group, {.queue_bytes = queue_bytes});
  if (!made) return tl::unexpected(made.error());
  auto& exchange = *made;
  double run = 0;
  double round = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (auto begun = exchange.launch(per_rank, Depart<size>{rounds}); !begun) return begun;
    if (auto next = exchange.advance(); !next) return tl::unexpected(next.error());
    auto begin = Clock::now();
    if (auto report = exchange.run(Hop{}); !report) return tl::unexpected(report.error());
    const double ran = us_since(begin) / rounds;
    run = repeat == 0 ? ran : std::min(ran, run);
    if (auto begun = exchange.launch(per_rank, Depart<size>{rounds}); !begun) return begun;
    auto next = exchange.advance();
    begin = Clock::now();
    while (next && next->alive > 0) {
      if (auto processed = exchange.process(Hop{}); !processed) return processed;
      next = exchange.advance();
    }
    if (!next) return tl::unexpected(next.error());
    const double went = us_since(begin) / rounds;
    round = repeat == 0 ? went : std::min(went, round);
  }
  if (group.rank() == 0) {
    figures.floor_us = floor;
    figures.run_us = run;
    figures.round_us = round;
  }
  return {};
}

template <std::size_t size>
bool show(Rank ranks, std::uint64_t all) {
  void* const memory =
      ::mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const figures = new (memory) Figures{};
  const std::uint64_t per_rank = all / static_cast<std::uint64_t>(ranks);
  const auto ends = godwit::cuda::run_forked(
      ranks, [&](godwit::Group& group) { return measure<size>(group, per_rank, *figures); });
  bool good = true;
  for (const auto& end : ends) {
    if (end.status) continue;
    std::printf("%5d %5zu %10llu  %s\n", ranks, size, static_cast<unsigned long long>(all),
                end.status.error().message.c_str());
    good = false;
  }
  const auto rate = [&](double us) { return static_cast<double>(all) / us / 1e3; };
  if (good) {
    std::printf("%5d %5zu %10llu  %9.1f   %9.1f %7.2f %6.2f   %9.1f %7.2f\n", ranks, size,
                static_cast<unsigned long long>(all), figures->floor_us, figures->run_us,
                rate(figures->run_us), figures->run_us / figures->floor_us, figures->round_us,
                rate(figures->round_us));
  }
  std::fflush(stdout);
  ::munmap(memory, sizeof(Figures));
  return good;
}

}  // namespace

int main() {
  std::printf(
      "                        floor      run()                       process(), advance()\n"
      "ranks bytes      items         us          us     G/s floors          us     G/s\n");
  std::fflush(stdout);
  bool good = true;
  for (const Rank ranks : {2, 4, 8}) {
    for (const std::uint64_t items : {10'000, 40'000, 1'000'000, 4'000'000, 32 << 20}) {
      good = show<64>(ranks, items) && good;
    }
  }
  good = show<32>(4, 32 << 20) && good;
  good = show<128>(4, 32 << 20) && good;
  return good ? 0 : 1;
}
