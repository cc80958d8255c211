// The same functor on CPU threads and on a GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"
#include "godwit/group.hpp"
#include "godwit/kernel.hpp"

namespace godwit::cuda {
namespace {

// Follows the Collatz sequence of a number; each rank owns the numbers of one remainder. Where a
// sequence ends it leaves its length.
struct Seeker {
  std::uint64_t value;
  std::uint32_t steps;
  std::uint32_t start;
};
struct Length {
  std::uint32_t start;
  std::uint32_t steps;
};

GODWIT_KERNEL Rank owner(std::uint64_t value, Rank ranks) {
  return static_cast<Rank>(value % static_cast<std::uint64_t>(ranks));
}

struct Seek {
  template <class Out>
  GODWIT_KERNEL void operator()(const Seeker& seeker, Out& out) const {
    if (seeker.value == 1) {
      out.emit(Length{.start = seeker.start, .steps = seeker.steps},
               owner(seeker.start, out.ranks()));
      return;
    }
    const bool even = seeker.value % 2 == 0;
    const Seeker next{.value = even ? seeker.value / 2 : 3 * seeker.value + 1,
                      .steps = seeker.steps + 1,
                      .start = seeker.start};
    out.emit(next, owner(next.value, out.ranks()));
  }
};

struct Start {
  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    const auto start = static_cast<std::uint32_t>(index + 1);
    if (owner(start, out.ranks()) == out.rank()) {
      out.emit(Seeker{.value = start, .steps = 0, .start = start}, out.rank());
    }
  }
};

struct Note {
  std::uint32_t* lengths;
  GODWIT_KERNEL void operator()(const Length& length) const {
    lengths[length.start] = length.steps;  // each start ends once
  }
};

constexpr std::uint32_t kStarts = 20'000;
constexpr Rank kRanks = 3;

Status seek_on_cpu(Group& group, std::uint32_t* lengths) {
  auto exchange = godwit::Exchange<Seeker, Reduced<Length>>::create(group);
  if (!exchange) return tl::unexpected(exchange.error());
  exchange->reduce<Length>(Note{lengths});
  for (std::uint64_t index = 0; index < kStarts; ++index) Start{}(index, *exchange);
  auto report = exchange->run(Seek{});
  if (!report) return tl::unexpected(report.error());
  return {};
}

Status seek_on_gpu(Group& group, std::uint32_t* lengths, std::uint32_t team = 0) {
  auto exchange = Exchange<Seeker, Reduced<Length>>::create(
      group, {.queue_bytes = std::size_t{16} << 20, .team = team});
  if (!exchange) return tl::unexpected(exchange.error());
  exchange->reduce<Length>(Note{lengths});
  if (auto begun = exchange->launch(kStarts, Start{}); !begun) return begun;
  auto report = exchange->run(Seek{});
  if (!report) return tl::unexpected(report.error());
  return {};
}

constexpr std::size_t kBytes = (kStarts + 1) * sizeof(std::uint32_t);

TEST(CudaKernel, TheSameFunctorsGiveTheSameOnCpuAndGpu) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) GTEST_SKIP() << "no GPU here";
  std::vector<std::uint32_t> on_cpu(kStarts + 1);
  const Status done =
      run_ranks(kRanks, [&](Group& group) { return seek_on_cpu(group, on_cpu.data()); });
  ASSERT_TRUE(done.has_value()) << done.error().message;

  std::uint32_t* lengths = nullptr;
  ASSERT_EQ(cudaMalloc(&lengths, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(lengths, 0, kBytes), cudaSuccess);
  const Status done_too =
      run_ranks(kRanks, [&](Group& group) { return seek_on_gpu(group, lengths); });
  ASSERT_TRUE(done_too.has_value()) << done_too.error().message;
  std::vector<std::uint32_t> on_gpu(kStarts + 1);
  ASSERT_EQ(cudaMemcpy(on_gpu.data(), lengths, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(lengths);
  EXPECT_TRUE(on_gpu == on_cpu);
  EXPECT_EQ(on_cpu[27], 111u);

  // Rank 0 on a CPU, the others on the GPU, each for itself.
  ASSERT_EQ(cudaMalloc(&lengths, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(lengths, 0, kBytes), cudaSuccess);
  std::vector<std::uint32_t> mixed(kStarts + 1);
  const Status done_mixed = run_ranks(kRanks, [&](Group& group) {
    return group.rank() == 0
               ? seek_on_cpu(group, mixed.data())
               : seek_on_gpu(group, lengths, static_cast<std::uint32_t>(group.rank()));
  });
  ASSERT_TRUE(done_mixed.has_value()) << done_mixed.error().message;
  ASSERT_EQ(cudaMemcpy(on_gpu.data(), lengths, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(lengths);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] += on_gpu[i];
  EXPECT_TRUE(mixed == on_cpu);
}

}  // namespace
}  // namespace godwit::cuda
