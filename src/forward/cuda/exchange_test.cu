// The exchange on a GPU; skipped where there is none.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "forward/cuda/accounts_for_test.cuh"
#include "forward/cuda/order_for_test.cuh"
#include "forward/cuda/walks_for_test.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/group.hpp"

namespace godwit::cuda {
namespace {

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class CudaExchange : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

constexpr std::uint32_t kHops = 3;
constexpr std::uint64_t kWalks = 20'000;

template <std::size_t size>
std::uint64_t walk(Rank ranks, Pattern pattern, std::uint64_t walks, std::uint32_t hops,
                   const Options& options = {.queue_bytes = 64 << 20}) {
  Accounts accounts(ranks);
  const Status done = run_ranks(ranks, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<size>>::create(group, options);
    if (!exchange) return tl::unexpected(exchange.error());
    auto begun = exchange->launch(walks, Begin<size>{accounts.ledger(), pattern, hops});
    if (!begun) return begun;
    auto report = exchange->run(Step{accounts.ledger(), pattern});
    if (!report) return tl::unexpected(report.error());
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return accounts.check();
}

TEST_F(CudaExchange, EveryItemArrivesWholeWhateverItsSize) {
  constexpr std::uint64_t kExpected = 4 * kWalks * (kHops + 1);
  EXPECT_EQ(walk<4>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<12>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<20>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<32>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<36>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<48>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<64>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<128>(4, Pattern::uniform, kWalks, kHops), kExpected);
  EXPECT_EQ(walk<256>(4, Pattern::uniform, kWalks, kHops), kExpected);
}

TEST_F(CudaExchange, EveryItemArrivesWherePatternsSendIt) {
  for (const Rank ranks : {1, 2, 3, 7, 8}) {
    const std::uint64_t all = static_cast<std::uint64_t>(ranks) * kWalks * (kHops + 1);
    for (const Pattern pattern :
         {Pattern::uniform, Pattern::all_to_one, Pattern::zipf, Pattern::ring, Pattern::self}) {
      EXPECT_EQ(walk<64>(ranks, pattern, kWalks, kHops), all) << ranks;
    }
    EXPECT_EQ(walk<64>(ranks, Pattern::empty, kWalks, kHops), kWalks * (kHops + 1)) << ranks;
  }
}

TEST_F(CudaExchange, ABurstOfItemsFindsItsWayAroundTheStagingMemory) {
  // 1 + 3 + 9 + 27 items for each walk.
  EXPECT_EQ(walk<64>(4, Pattern::burst, kWalks, kHops, {.queue_bytes = 256 << 20}),
            4 * kWalks * 40);
}

TEST_F(CudaExchange, NothingToDoIsDoneAtOnce) {
  EXPECT_EQ(walk<64>(4, Pattern::uniform, 0, kHops), 0u);
  EXPECT_EQ(walk<64>(3, Pattern::uniform, 1, 0), 3u);
}

TEST_F(CudaExchange, WhatTheGpuHasNoRoomForSpillsToTheHost) {
  // 4 x 200,000 x 64 B are 49 chunks, and both rounds' are held at once.
  EXPECT_EQ(walk<64>(4, Pattern::uniform, 200'000, kHops,
                     {.queue_bytes = 4 << 20, .spill_bytes = 32 << 20}),
            4u * 200'000 * (kHops + 1));
}

TEST_F(CudaExchange, AStatusTellsHowMuchMemoryWasNeeded) {
  // 65,536 items of 64 B fill four chunks, and there is one rank.
  const Status done = run_ranks(1, [&](Group& group) -> Status {
    Accounts accounts(1);
    auto exchange =
        Exchange<Walker<64>>::create(group, {.queue_bytes = 4 << 20, .spill_bytes = 16 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    auto begun = exchange->launch(65'536, Begin<64>{accounts.ledger(), Pattern::self, 1});
    if (!begun) return begun;
    if (auto round = exchange->advance(); !round) return tl::unexpected(round.error());
    EXPECT_EQ(exchange->status().queue_bytes, 4u << 20);
    EXPECT_EQ(exchange->status().spill_high_bytes, 0u);
    auto report = exchange->run(Step{accounts.ledger(), Pattern::self});
    if (!report) return tl::unexpected(report.error());
    const ExchangeStatus status = exchange->status();
    EXPECT_EQ(status.arrived, 2u * 65'536);
    EXPECT_EQ(status.queue_high_bytes, 4u << 20);
    EXPECT_EQ(status.spill_high_bytes, 4u << 20);  // both rounds' items are held at once
    EXPECT_EQ(status.queue_bytes + status.spill_bytes, 0u);
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
}

TEST_F(CudaExchange, ItemsBeyondAllRoomAreRefusedLoudlyAndTheRestArrives) {
  for (const std::size_t queue_bytes : {std::size_t{1}, std::size_t{8} << 20}) {
    Accounts accounts(4);
    std::atomic<std::uint64_t> refused = 0;
    const Status done = run_ranks(4, [&](Group& group) -> Status {
      auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = queue_bytes});
      if (!exchange) return tl::unexpected(exchange.error());
      auto begun = exchange->launch(400'000, Begin<64>{accounts.ledger(), Pattern::uniform, 0});
      if (!begun) return begun;
      const auto round = exchange->advance();
      EXPECT_FALSE(round.has_value());
      if (!round) {
        EXPECT_EQ(round.error().code, ErrorCode::resource_exhausted);
        refused = std::stoull(round.error().message);  // it begins with how many
      }
      // What was taken is there, and the exchange goes on.
      auto report = exchange->run(Step{accounts.ledger(), Pattern::uniform});
      if (!report) return tl::unexpected(report.error());
      return {};
    });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(accounts.arrived() + refused, 4u * 400'000);
  }
}

struct ToNowhere {
  template <class Out>
  __device__ void operator()(std::uint64_t, Out& out) const {
    out.emit(Walker<64>{}, 7);
  }
};

TEST_F(CudaExchange, ARankThatDoesNotExistIsAnError) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = 8 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    if (auto begun = exchange->launch(10, ToNowhere{}); !begun) return begun;
    const auto round = exchange->advance();
    if (!round) return tl::unexpected(round.error());
    return {};
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(done.error().message.find("such as 7"), std::string::npos) << done.error().message;
}

__global__ void step_kernel(DeviceView<Walker<64>> walkers, Step step) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < walkers.incoming_count(); i += all) {
    step(walkers.incoming(i), walkers);
  }
}

TEST_F(CudaExchange, AKernelOfOnesOwnMovesItemsRoundByRound) {
  Accounts accounts(3);
  const Status done = run_ranks(3, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = 64 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    auto begun = exchange->launch(kWalks, Begin<64>{accounts.ledger(), Pattern::uniform, kHops});
    if (!begun) return begun;
    for (std::uint64_t rounds = 0;; ++rounds) {
      const auto round = exchange->advance();
      if (!round) return tl::unexpected(round.error());
      EXPECT_EQ(round->alive, rounds <= kHops ? 3 * kWalks : 0);
      if (round->alive == 0) return {};
      step_kernel<<<100, 128, 0, exchange->stream()>>>(exchange->device(),
                                                       Step{accounts.ledger(), Pattern::uniform});
    }
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(accounts.check(), 3 * kWalks * (kHops + 1));
}

TEST_F(CudaExchange, ProcessAndAdvanceDoWhatRunDoes) {
  Accounts accounts(4);
  const Status done = run_ranks(4, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = 64 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    auto begun = exchange->launch(kWalks, Begin<64>{accounts.ledger(), Pattern::zipf, kHops});
    if (!begun) return begun;
    const Step step{accounts.ledger(), Pattern::zipf};
    auto round = exchange->advance();
    if (round) {
      if (auto stepped = exchange->process(step); !stepped) return stepped;
      round = exchange->advance();
    }
    if (!round) return tl::unexpected(round.error());
    // One rank has processed its items already: run() must not do it again.
    if (exchange->rank() == 1) {
      if (auto stepped = exchange->process(step); !stepped) return stepped;
    }
    auto report = exchange->run(step);
    if (!report) return tl::unexpected(report.error());
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(accounts.check(), 4 * kWalks * (kHops + 1));
}

struct Deposit {
  std::uint32_t cell;
  std::uint32_t amount;
};
struct AddUp {
  unsigned long long* cells;
  __device__ void operator()(const Deposit& deposit) const {
    atomicAdd(cells + deposit.cell, static_cast<unsigned long long>(deposit.amount));
  }
};
// Every walker leaves a deposit with the next rank at each of its steps, and now and then another
// kind of walker comes of it.
struct StepAndDeposit {
  Step step;
  template <std::size_t size, class Out>
  __device__ void operator()(const Walker<size>& walker, Out& out) const {
    step(walker, out);
    const Rank to = (out.rank() + 1) % out.ranks();
    out.emit(Deposit{.cell = static_cast<std::uint32_t>(to), .amount = 3}, to);
    if (size == 64 && (walker.words[0] >> 9) % 4 == 0) {
      step.ledger.send<20>(walker.words[0] >> 9, 0, to, out);
    }
  }
};

TEST_F(CudaExchange, SeveralKindsTravelTogetherAndReducedOnesAreFoldedOnArrival) {
  constexpr Rank kRanks = 3;
  Accounts accounts(kRanks);
  unsigned long long* cells = nullptr;
  ASSERT_EQ(cudaMalloc(&cells, kRanks * sizeof *cells), cudaSuccess);
  ASSERT_EQ(cudaMemset(cells, 0, kRanks * sizeof *cells), cudaSuccess);
  std::atomic<std::uint64_t> processed = 0;
  const Status done = run_ranks(kRanks, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>, Reduced<Deposit>, Walker<20>>::create(
        group, {.queue_bytes = 64 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    exchange->template reduce<Deposit>(AddUp{cells});
    auto begun = exchange->launch(kWalks, Begin<64>{accounts.ledger(), Pattern::uniform, kHops});
    if (!begun) return begun;
    auto report = exchange->run(StepAndDeposit{{accounts.ledger(), Pattern::uniform}});
    if (!report) return tl::unexpected(report.error());
    processed += report->processed;
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(accounts.check(), processed);
  EXPECT_EQ(processed, kRanks * kWalks * (kHops + 1) * 5 / 4);
  unsigned long long sums[kRanks] = {};
  ASSERT_EQ(cudaMemcpy(sums, cells, sizeof sums, cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(cells);
  EXPECT_EQ(sums[0] + sums[1] + sums[2], 3 * processed);
}

TEST_F(CudaExchange, MoreThanTwoGibibytesGoFromOneRankToAnother) {
  // 36 M items of 64 B in one round, ring-wise: all of a rank's go to the next.
  constexpr std::uint64_t kMany = 36'000'000;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &all_bytes), cudaSuccess);
  if (free_bytes < (std::size_t{12} << 30)) GTEST_SKIP() << "the GPU has less than 12 GiB free";
  Accounts accounts(2);
  std::uint64_t alive = 0;
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = std::size_t{5} << 30});
    if (!exchange) return tl::unexpected(exchange.error());
    const std::uint64_t mine = group.rank() == 0 ? kMany : 1;
    auto begun = exchange->launch(mine, Begin<64>{accounts.ledger(), Pattern::ring, 1});
    if (!begun) return begun;
    const auto round = exchange->advance();
    if (!round) return tl::unexpected(round.error());
    if (group.rank() == 1) {
      alive = round->alive;
      EXPECT_EQ(round->incoming, kMany);
    }
    auto report = exchange->run(Step{accounts.ledger(), Pattern::ring});
    if (!report) return tl::unexpected(report.error());
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(alive, kMany + 1);
  EXPECT_EQ(accounts.check(), 2 * (kMany + 1));
}

TEST_F(CudaExchange, ADeterministicExchangeKeepsTheOrderOfSourcesAndOfWhatTheyEmit) {
  constexpr std::uint32_t kFew = 30'000;
  Accounts accounts(3);
  const Status done =
      run_ranks(3, [&](Group& group) { return walk_in_order(group, accounts.ledger(), kFew); });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(accounts.check(), 3 * kFew * 40);
}

TEST_F(CudaExchange, ARankThatLeavesEndsTheRoundsOfTheOthers) {
  const Status done = run_ranks(3, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = 8 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    if (group.rank() == 2) return {};
    const auto round = exchange->advance();
    EXPECT_FALSE(round.has_value());
    if (!round) {
      EXPECT_EQ(round.error().code, ErrorCode::node_lost);
    }
    return {};
  });
  EXPECT_TRUE(done.has_value());
}

TEST_F(CudaExchange, RanksThatDisagreeOnItemsAreToldBeforeAnythingMoves) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    if (group.rank() == 0) {
      auto exchange = Exchange<Walker<64>>::create(group, {.queue_bytes = 8 << 20});
      EXPECT_FALSE(exchange.has_value());
      return exchange ? Status{} : tl::unexpected(exchange.error());
    }
    auto exchange = Exchange<Walker<32>>::create(group, {.queue_bytes = 8 << 20});
    EXPECT_FALSE(exchange.has_value());
    return exchange ? Status{} : tl::unexpected(exchange.error());
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::type_mismatch);
}

}  // namespace
}  // namespace godwit::cuda
