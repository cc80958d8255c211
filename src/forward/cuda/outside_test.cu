// Ranks that do not share a GPU: beside ranks on CPUs, and in several teams. Skipped where there is
// no GPU, but for what is said there.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "forward/cuda/places_for_test.cuh"
#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"
#include "godwit/group.hpp"

namespace godwit::cuda {
namespace {

bool a_gpu_is_here() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class CudaOutside : public testing::Test {
 protected:
  void SetUp() override {
    if (!a_gpu_is_here()) GTEST_SKIP() << "no GPU here";
  }
};

constexpr Options kSmall{.queue_bytes = 16 << 20};

template <std::size_t size>
Books walk_all(std::string_view letters, const Walks& walks, const Options& options = kSmall) {
  const Places places(letters);
  Books books(2 * static_cast<std::size_t>(places.ranks()) * places.ranks());
  const Status done = run_ranks(places.ranks(), [&](Group& group) {
    return walk_at<size>(places, group, walks, options, books);
  });
  EXPECT_TRUE(done.has_value()) << letters << ": " << done.error().message;
  return books;
}

TEST_F(CudaOutside, RanksOfAllKindsGiveWhatCpuRanksGive) {
  for (const Pattern pattern :
       {Pattern::uniform, Pattern::ring, Pattern::all_to_one, Pattern::zipf, Pattern::burst}) {
    const Walks walks{.pattern = pattern};
    for (const auto& [cpus, others] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"cc", {"gg", "cg", "gc", "gh"}},
             {"cccc", {"gggg", "ccgg", "cccg", "gccg", "gghh", "ghgh", "cggh", "ghij"}}}) {
      const Books expected = walk_all<64>(cpus, walks);
      const std::uint64_t each = pattern == Pattern::burst ? 40 : 4;
      EXPECT_EQ(check_books(expected), cpus.size() * walks.each * each);
      for (const std::string& letters : others) {
        const Books books = walk_all<64>(letters, walks, {.queue_bytes = 64 << 20});
        EXPECT_EQ(check_books(books), cpus.size() * walks.each * each) << letters;
        for (std::size_t i = 0; i < books.size(); ++i) {
          EXPECT_EQ(books[i].hashes, expected[i].hashes) << letters << " " << i;
        }
      }
    }
  }
}

TEST_F(CudaOutside, ItemsThatDoNotFillAChunkEvenlyArriveWhole) {
  // Enough for a team to copy from another by a kernel, and then few, which it copies one by one.
  for (const std::uint64_t each : {400'000, 1'000}) {
    const Walks walks{.each = each};
    EXPECT_EQ(check_books(walk_all<20>("cgh", walks, {.queue_bytes = 128 << 20})), 3 * each * 4);
  }
}

TEST_F(CudaOutside, WhatComesBeyondTheRoomOfAGpuWaitsInTheHost) {
  // 12.8 MB for a GPU with 16 MiB, from a CPU, while it has as much of its own.
  const Walks walks{.pattern = Pattern::all_to_one, .each = 200'000, .hops = 0};
  EXPECT_EQ(check_books(walk_all<64>("cg", walks, {.queue_bytes = 16 << 20})), 2 * walks.each);
  // The same from CPUs and from another team, for four times.
  const Walks crowd{.pattern = Pattern::all_to_one, .each = 50'000, .hops = 1};
  const Books books = walk_all<64>("chgc", crowd, {.queue_bytes = 8 << 20});
  EXPECT_EQ(check_books(books), 4 * crowd.each * 2);
}

TEST_F(CudaOutside, WhatLeavesBeyondThePinnedMemoryWaitsInAFile) {
  const Walks walks{.pattern = Pattern::ring, .each = 100'000, .hops = 3};
  const Books books =
      walk_all<64>("gc", walks, {.queue_bytes = 32 << 20, .outside_bytes = 1 << 20});
  EXPECT_EQ(check_books(books), 2 * walks.each * 4);
}

TEST_F(CudaOutside, RoundsOfOnesOwnGoTogetherWithThoseOfCpus) {
  const Walks walks{.pattern = Pattern::uniform, .each = 20'000, .hops = 3};
  Books books(2 * 9);
  const Status done = run_ranks(3, [&](Group& group) -> Status {
    if (group.rank() == 1) return walk_on_cpu<64>(group, walks, {}, books);
    auto exchange = Exchange<Walker<64>>::create(group, kSmall);
    if (!exchange) return tl::unexpected(exchange.error());
    Account* accounts = nullptr;
    const std::size_t bytes = books.size() * sizeof(Account);
    if (cudaMalloc(&accounts, bytes) != cudaSuccess) return {};
    cudaMemset(accounts, 0, bytes);
    cudaDeviceSynchronize();
    const Ledger ledger{.sent = accounts, .arrived = accounts + 9};
    auto begun = exchange->launch(walks.each, Begin<64>{ledger, walks.pattern, walks.hops});
    if (!begun) return begun;
    for (std::uint32_t rounds = 0;; ++rounds) {
      const auto round = exchange->advance();
      if (!round) return tl::unexpected(round.error());
      EXPECT_EQ(round->alive, rounds <= walks.hops ? 3 * walks.each : 0);
      EXPECT_EQ(round->incoming, exchange->template incoming_count<Walker<64>>());
      if (round->alive == 0) break;
      if (auto stepped = exchange->process(Step{ledger, walks.pattern}); !stepped) return stepped;
    }
    Books mine(books.size());
    cudaMemcpy(mine.data(), accounts, bytes, cudaMemcpyDefault);
    cudaFree(accounts);
    add_books(books, mine);
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(check_books(books), 3 * walks.each * 4);
}

// How each rank ends; `body(group, places)` is its part.
template <class Body>
std::vector<Status> ends_of(std::string_view letters, Body&& body) {
  const Places places(letters);
  std::vector<Status> ends(letters.size());
  const Status done = run_ranks(places.ranks(), [&](Group& group) -> Status {
    ends[static_cast<std::size_t>(group.rank())] = body(group, places);
    return {};
  });
  EXPECT_TRUE(done.has_value());
  return ends;
}

// All ranks make an exchange, those in `letters` on the GPU with these options, and go one round.
template <class OnCpu, class OnGpu>
std::vector<Status> make_all(std::string_view letters, const Options& options,
                             const ExchangeOptions& cpu_options = {}) {
  return ends_of(letters, [&](Group& group, const Places& places) -> Status {
    if (places.on_cpu(group.rank())) {
      auto exchange = OnCpu::create(group, cpu_options);
      if (!exchange) return tl::unexpected(exchange.error());
      auto round = exchange->advance();
      return round ? Status{} : tl::unexpected(round.error());
    }
    Options mine = options;
    mine.team = places.team(group.rank());
    auto exchange = OnGpu::create(group, mine);
    if (!exchange) return tl::unexpected(exchange.error());
    auto round = exchange->advance();
    return round ? Status{} : tl::unexpected(round.error());
  });
}

void expect_everywhere(const std::vector<Status>& ends, ErrorCode code, const std::string& words) {
  for (const Status& end : ends) {
    ASSERT_FALSE(end.has_value());
    EXPECT_EQ(end.error().code, code) << end.error().message;
    EXPECT_NE(end.error().message.find(words), std::string::npos) << end.error().message;
  }
}

using OnCpu64 = godwit::Exchange<Walker<64>>;
using OnGpu64 = Exchange<Walker<64>>;

TEST_F(CudaOutside, WhatCannotBeMixedIsRefusedOnEveryRank) {
  const ExchangeOptions in_order{.deterministic = true};
  Options options = kSmall;
  options.deterministic = true;
  for (const char* const letters : {"cgg", "ggc", "ggh"}) {
    expect_everywhere(make_all<OnCpu64, OnGpu64>(letters, options, in_order),
                      ErrorCode::unsupported, "deterministic");
  }
}

TEST_F(CudaOutside, RanksThatDisagreeOnItemsAreToldWhereverTheyAre) {
  expect_everywhere(make_all<godwit::Exchange<Walker<32>>, OnGpu64>("cgg", kSmall),
                    ErrorCode::type_mismatch, "Walker<32> of 32 bytes");
  expect_everywhere(make_all<godwit::Exchange<Reduced<Walker<64>>>, OnGpu64>("gc", kSmall),
                    ErrorCode::type_mismatch, "(reduced)");
}

TEST_F(CudaOutside, AGpuWithoutMemoryIsAnErrorOnEveryRank) {
  Options options;
  options.queue_bytes = std::size_t{1} << 42;
  expect_everywhere(make_all<OnCpu64, OnGpu64>("cgg", options), ErrorCode::out_of_memory, "rank 1");
}

// What any machine can show, with or without a GPU.
TEST(CudaOutsideAnywhere, AGpuThatIsNotThereIsAnErrorOnEveryRank) {
  Options options = kSmall;
  options.device = 99;
  expect_everywhere(make_all<OnCpu64, OnGpu64>("cg", options), ErrorCode::unsupported,
                    "no such GPU");
  expect_everywhere(make_all<OnCpu64, OnGpu64>("gg", options), ErrorCode::unsupported,
                    "no such GPU");
}

struct ToNobody {
  template <class Out>
  __device__ void operator()(std::uint64_t, Out& out) const {
    out.emit(Walker<64>{}, 7);
  }
};

TEST_F(CudaOutside, AnItemThatIsRefusedOnAGpuIsToldOnEveryRank) {
  const auto ends = ends_of("cgh", [&](Group& group, const Places& places) -> Status {
    if (places.on_cpu(group.rank())) {
      auto exchange = OnCpu64::create(group);
      if (!exchange) return tl::unexpected(exchange.error());
      auto round = exchange->advance();
      return round ? Status{} : tl::unexpected(round.error());
    }
    Options options = kSmall;
    options.team = places.team(group.rank());
    auto exchange = OnGpu64::create(group, options);
    if (!exchange) return tl::unexpected(exchange.error());
    if (group.rank() == 1) {
      if (auto begun = exchange->launch(10, ToNobody{}); !begun) return begun;
    }
    auto round = exchange->advance();
    return round ? Status{} : tl::unexpected(round.error());
  });
  expect_everywhere(ends, ErrorCode::invalid_argument, "such as 7");
}

TEST_F(CudaOutside, ARankThatLeavesEndsTheExchangeOfAll) {
  for (const Rank leaver : {0, 1}) {
    const auto ends = ends_of("cgg", [&](Group& group, const Places& places) -> Status {
      const auto go = [&](auto exchange) -> Status {
        if (!exchange) return tl::unexpected(exchange.error());
        for (int rounds = 0; rounds < 100; ++rounds) {
          if (rounds == 3 && group.rank() == leaver) {
            return tl::unexpected(Error{ErrorCode::node_lost, "on purpose"});
          }
          if (auto round = exchange->advance(); !round) return tl::unexpected(round.error());
        }
        return {};
      };
      return places.on_cpu(group.rank()) ? go(OnCpu64::create(group))
                                         : go(OnGpu64::create(group, kSmall));
    });
    expect_everywhere(ends, ErrorCode::node_lost, "");
  }
}

}  // namespace
}  // namespace godwit::cuda
