// Forwarding on one GPU with ranks as processes: how long a round takes, beside what processes that
// share a GPU cannot avoid, measured in the same run.
//
//   bench_forward_cuda_processes [--quick]
//
// First the lines that goals and figures of RaFI are of; then (not --quick) 2, 4 and 8 processes,
// 20 to 128 bytes, 10^3 to 10^8 items. The copy is one process's, while the others wait. Floor:
// each process launches two empty kernels, waits for them, and meets the others at a counter in
// shared memory. Without MPS the processes take turns on the GPU; with it they share it.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>

#include "forward/cuda/forked_group_for_test.hpp"
#include "forward_cuda/travellers.cuh"
#include "godwit/cuda/exchange.cuh"

namespace {

using godwit::Rank;
using godwit::Status;
using godwit::bench::Clock;
using godwit::bench::Depart;
using godwit::bench::Hop;
using godwit::bench::kGoal;
using godwit::bench::Traveller;
using godwit::bench::us_since;

struct Point {
  double copy_us;
  double floor_us;
  double run_us;
  double round_us;
};

// What the processes share: the counter that they meet at, and rank 0's figures, for each number of
// items.
struct Figures {
  std::atomic<std::uint64_t> arrivals;
  Point points[8];
};

constexpr std::uint64_t kFloorMeetings = 110;

__global__ void nothing() {}

void meet(Figures& figures, std::uint64_t number, Rank ranks) {
  figures.arrivals.fetch_add(1);
  while (figures.arrivals.load() < number * static_cast<std::uint64_t>(ranks)) {
  }
}

// `met`: how often they have met before.
double floor_us(Figures& figures, std::uint64_t met, Rank ranks) {
  constexpr std::uint64_t kRounds = kFloorMeetings - 10;
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const auto round = [&](std::uint64_t number) {
    nothing<<<1, 32, 0, stream>>>();
    nothing<<<1, 32, 0, stream>>>();
    cudaStreamSynchronize(stream);
    meet(figures, met + number, ranks);
  };
  for (std::uint64_t i = 1; i <= 10; ++i) round(i);
  const auto begin = Clock::now();
  for (std::uint64_t i = 1; i <= kRounds; ++i) round(10 + i);
  const double us = us_since(begin) / kRounds;
  cudaStreamDestroy(stream);
  return us;
}

template <std::size_t size>
Status measure(godwit::Group& group, std::uint64_t per_rank, std::uint64_t met, Figures& figures,
               Point& point) {
  const std::uint32_t rounds = per_rank < 200'000 ? 100 : 6;
  const std::size_t queue_bytes = godwit::bench::queue_bytes_for(per_rank, size);
  if (group.rank() == 0) {
    const auto ranks = static_cast<std::uint64_t>(group.ranks());
    point.copy_us = godwit::bench::copy_us(per_rank * ranks * size);
  }
  const double floor = floor_us(figures, met, group.ranks());
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
    point.floor_us = floor;
    point.run_us = run;
    point.round_us = round;
  }
  return {};
}

template <std::size_t size>
void print(Rank ranks, std::uint64_t all, const Point& point) {
  const auto rate = [&](double us) { return static_cast<double>(all) / us / 1e3; };
  std::printf("%5d %5zu %10llu  %9.1f %9.1f   %9.1f %7.2f %6.2f %6.2f   %9.1f %7.2f\n", ranks, size,
              static_cast<unsigned long long>(all), point.copy_us, point.floor_us, point.run_us,
              rate(point.run_us), point.run_us / point.copy_us, point.run_us / point.floor_us,
              point.round_us, rate(point.round_us));
}

// Processes are begun once for all numbers of items: it takes them a second.
template <std::size_t size>
bool show(Rank ranks, std::span<const std::uint64_t> counts) {
  void* const memory =
      ::mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const figures = new (memory) Figures{};
  const auto ends = godwit::cuda::run_forked(ranks, [&](godwit::Group& group) -> Status {
    cudaSetDevice(0);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Status done = measure<size>(group, counts[i] / static_cast<std::uint64_t>(ranks),
                                        i * kFloorMeetings, *figures, figures->points[i]);
      if (!done) return done;
    }
    return {};
  });
  bool good = true;
  for (const auto& end : ends) {
    if (end.status) continue;
    std::printf("%5d %5zu  %s\n", ranks, size, end.status.error().message.c_str());
    good = false;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (figures->points[i].run_us > 0) print<size>(ranks, counts[i], figures->points[i]);
  }
  std::fflush(stdout);
  ::munmap(memory, sizeof(Figures));
  return good;
}

template <std::size_t size>
bool show_all() {
  bool good = true;
  for (const Rank ranks : {2, 4, 8}) good = show<size>(ranks, godwit::bench::kCounts) && good;
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::printf(
      "                        copy      floor      run()                              process(), "
      "advance()\n"
      "ranks bytes      items         us        us          us     G/s copies floors          us  "
      "   G/s\n");
  std::fflush(stdout);
  bool good = true;
  const std::uint64_t counts[] = {10'000, 40'000, 4'000'000, kGoal};
  for (const Rank ranks : {2, 4, 8}) good = show<64>(ranks, counts) && good;
  const std::uint64_t millions[] = {2'000'000, 8'000'000};  // RaFI's 2 x 1 M and 8 x 1 M
  good = show<64>(2, std::span(millions, 1)) && good;
  good = show<64>(8, std::span(millions + 1, 1)) && good;
  good = show<32>(4, {&kGoal, 1}) && good;
  good = show<128>(4, {&kGoal, 1}) && good;
  if (quick) return good ? 0 : 1;
  const auto all_of = [](auto size) { return show_all<decltype(size)::value>(); };
  good = godwit::bench::show_sizes(all_of) && good;
  return good ? 0 : 1;
}
