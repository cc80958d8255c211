// Ranks in processes of their own that share a GPU; skipped where there is none. This process
// itself never uses CUDA: its children could not then.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <string_view>

#include "base/folder_for_test.hpp"
#include "forward/cuda/forked_group_for_test.hpp"
#include "forward/cuda/order_for_test.cuh"
#include "forward/cuda/places_for_test.cuh"
#include "forward/cuda/trips_for_test.cuh"
#include "godwit/cuda/exchange.cuh"

namespace godwit::cuda {
namespace {

bool has_gpu() {
  const auto ends = run_forked(1, [](Group&) -> Status {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return {};
    return tl::unexpected(Error{ErrorCode::unsupported, "no GPU"});
  });
  return ends.size() == 1 && ends[0].status.has_value();
}

class CudaProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

constexpr Rank kRanks = 4;
constexpr std::uint32_t kHops = 3;
constexpr std::uint64_t kWalks = 20'000;

// What ranks write about their own entries, in memory that all of them see.
struct Shared {
  std::atomic<std::uint64_t> items[2][kRanks * kRanks];
  std::atomic<std::uint64_t> hashes[2][kRanks * kRanks];
  std::atomic<std::uint64_t> torn;
  std::atomic<std::chrono::steady_clock::rep> killed;  // when
  Account4 account;
};

class SharedMemory {
 public:
  SharedMemory()
      : shared_(new(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{}) {}
  ~SharedMemory() { ::munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* operator->() const { return shared_; }

 private:
  Shared* shared_;
};

// Walks of one rank, whose accounts are added up for all in the end.
Status walk(Group& group, std::string_view letters, const Walks& walks, const Options& options,
            SharedMemory& shared) {
  const std::size_t pairs = letters.size() * letters.size();
  Books books(2 * pairs);
  const Status walked = walk_at<64>(Places(letters), group, walks, options, books);
  for (std::size_t i = 0; i < 2 * pairs; ++i) {
    shared->items[i / pairs][i % pairs] += books[i].items;
    shared->hashes[i / pairs][i % pairs] += books[i].hashes;
    shared->torn += books[i].torn;
  }
  return walked;
}

// Items that walks make, those of all hops together.
std::uint64_t items_of(const Walks& walks, std::uint64_t ranks) {
  if (walks.pattern == Pattern::burst) return ranks * walks.each * 40;  // 1 + 3 + 9 + 27 for each
  return (walks.pattern == Pattern::empty ? 1 : ranks) * walks.each * (walks.hops + 1);
}

void expect_all_arrive(const Walks& walks, const Options& options, std::string_view letters,
                       Way way) {
  SharedMemory shared;
  const auto ranks = static_cast<Rank>(letters.size());
  const auto ends = run_forked(
      ranks, [&](Group& group) { return walk(group, letters, walks, options, shared); }, way);
  ASSERT_EQ(ends.size(), letters.size());
  for (const RankEnd& end : ends) {
    ASSERT_TRUE(end.status.has_value()) << letters << ": " << end.status.error().message;
  }
  std::uint64_t sent = 0;
  EXPECT_EQ(shared->torn, 0u);
  for (std::size_t pair = 0; pair < letters.size() * letters.size(); ++pair) {
    EXPECT_EQ(shared->items[0][pair], shared->items[1][pair]) << pair;
    EXPECT_EQ(shared->hashes[0][pair], shared->hashes[1][pair]) << pair;
    sent += shared->items[0][pair];
  }
  EXPECT_EQ(sent, items_of(walks, letters.size())) << letters;
}
void expect_all_arrive(Pattern pattern, const Options& options, std::string_view letters = "gggg",
                       Way way = Way::automatic) {
  expect_all_arrive({.pattern = pattern, .each = kWalks, .hops = kHops}, options, letters, way);
}

TEST_F(CudaProcesses, EveryItemArrivesWholeInAnotherProcess) {
  expect_all_arrive(Pattern::uniform, {.queue_bytes = 16 << 20});
  expect_all_arrive(Pattern::all_to_one, {.queue_bytes = 16 << 20});
  expect_all_arrive(Pattern::zipf, {.queue_bytes = 16 << 20});
  for (const char* const letters : {"gg", "ggg"}) {
    for (const Pattern pattern : {Pattern::ring, Pattern::self, Pattern::empty, Pattern::burst}) {
      expect_all_arrive(pattern, {.queue_bytes = 128 << 20}, letters);
    }
  }
}

TEST_F(CudaProcesses, MoreThanTwoGibibytesGoFromOneToAnother) {
  // 36 M items of 64 B each way.
  expect_all_arrive({.pattern = Pattern::ring, .each = 36'000'000, .hops = 0},
                    {.queue_bytes = std::size_t{5} << 30}, "gg", Way::automatic);
}

TEST_F(CudaProcesses, RanksOfAllKindsReachEachOther) {
  for (const char* const letters : {"ccgg", "gccg", "gghh", "cggh"}) {
    expect_all_arrive(Pattern::uniform, {.queue_bytes = 16 << 20}, letters);
    expect_all_arrive(Pattern::ring, {.queue_bytes = 16 << 20}, letters, Way::tcp);
  }
}

TEST_F(CudaProcesses, WhatTheGpuHasNoRoomForSpillsToTheHost) {
  expect_all_arrive(Pattern::uniform, {.queue_bytes = 1 << 20, .spill_bytes = 8 << 20});
}

TEST_F(CudaProcesses, ADeterministicExchangeKeepsTheSameOrderAsBetweenThreads) {
  const auto ends = run_forked(3, [&](Group& group) -> Status {
    Ledger ledger{};
    if (cudaMalloc(&ledger.sent, 18 * sizeof(Account)) != cudaSuccess) {
      return tl::unexpected(Error{ErrorCode::out_of_memory, "no ledger"});
    }
    ledger.arrived = ledger.sent + 9;
    return walk_in_order(group, ledger, 5'000);
  });
  for (const RankEnd& end : ends) {
    EXPECT_TRUE(end.status.has_value()) << end.status.error().message;
  }
}

// A rank that dies, whichever it is, ends the exchange of the others, and soon.
void expect_error_when_killed(Rank victim, std::string_view letters) {
  SharedMemory shared;
  const Places places(letters);
  const auto ends = run_forked(kRanks, [&](Group& group) -> Status {
    const auto go = [&](auto exchange) -> Status {
      if (!exchange) return tl::unexpected(exchange.error());
      for (int round = 0;; ++round) {
        if (round == 3 && group.rank() == victim) {
          shared->killed = std::chrono::steady_clock::now().time_since_epoch().count();
          ::raise(SIGKILL);
        }
        if (auto next = exchange->advance(); !next) return tl::unexpected(next.error());
      }
    };
    if (places.on_cpu(group.rank())) return go(godwit::Exchange<Walker<64>>::create(group));
    return go(Exchange<Walker<64>>::create(
        group, {.queue_bytes = 8 << 20, .team = places.team(group.rank())}));
  });
  ASSERT_EQ(ends.size(), std::size_t{kRanks});
  for (Rank rank = 0; rank < kRanks; ++rank) {
    const RankEnd& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.killed, rank == victim);
    ASSERT_FALSE(end.status.has_value());
    if (rank != victim) {
      EXPECT_EQ(end.status.error().code, ErrorCode::node_lost) << end.status.error().message;
      const std::chrono::steady_clock::duration killed(shared->killed.load());
      EXPECT_LT(end.at.time_since_epoch() - killed, std::chrono::seconds(2));
    }
  }
}

TEST_F(CudaProcesses, AKilledRankEndsTheExchangeOfTheOthersInTime) {
  expect_error_when_killed(2, "gggg");
}
TEST_F(CudaProcesses, AKilledOwnerOfTheMemoryEndsTheExchangeOfTheOthersInTime) {
  expect_error_when_killed(0, "gggg");
}
TEST_F(CudaProcesses, AKilledRankAmongOthersOfAllKindsEndsTheExchangeInTime) {
  expect_error_when_killed(0, "cggh");
  expect_error_when_killed(1, "cggh");
  expect_error_when_killed(3, "cggh");
}

// What all ranks of a trip come to; each is a process.
std::vector<RankEnd> travel_in_processes(const Trip& trip, SharedMemory& shared) {
  return run_forked(trip.ranks(), [&](Group& group) -> Status {
    Account4 mine;
    const Status travelled = travel(group, trip, mine);
    Ledger::add(shared->account.items, mine.items);
    Ledger::add(shared->account.hashes, mine.hashes);
    Ledger::add(shared->account.torn, mine.torn);
    Ledger::add(shared->account.fares, mine.fares);
    return travelled;
  });
}

void expect_whole_trip(const Trip& trip, const Account4& expected) {
  SharedMemory shared;
  for (const RankEnd& end : travel_in_processes(trip, shared)) {
    ASSERT_TRUE(end.status.has_value()) << trip.letters << ": " << end.status.error().message;
  }
  EXPECT_TRUE(shared->account == expected)
      << trip.letters << ": " << shared->account.items << " of " << expected.items << ", fares "
      << shared->account.fares;
}

TEST_F(CudaProcesses, ARunIsGoneOnWithByProcessesOfAnyKindAndNumber) {
  for (const char* const first : {"ggg", "cgh"}) {
    const TestFolder folder;
    Trip trip{.letters = first, .folder = folder.path().string(), .saves_every = 4};
    const Account4 expected = trip.expected(3);
    expect_whole_trip(trip, expected);
    trip.resumes_at = 4;
    trip.saves_every = 0;
    for (const char* const later : {first, "gg", "cg"}) {
      trip.letters = later;
      expect_whole_trip(trip, expected);
    }
  }
}

// A rank is killed while it writes its part of the third checkpoint: the second counts.
TEST_F(CudaProcesses, AKilledProcessIsGoneOnWithFromTheLastWholeCheckpoint) {
  for (const char* const letters : {"ggg", "cgh"}) {
    const TestFolder folder;
    Trip trip{.letters = letters, .folder = folder.path().string(), .saves_every = 1};
    const Account4 expected = trip.expected(3);
    int saves = 0;
    const auto ends = run_forked(3, [&](Group& group) {
      trip.at_save = [&] {
        if (group.rank() == 1 && ++saves == 3) ::raise(SIGKILL);
      };
      Account4 mine;
      return travel(group, trip, mine);
    });
    ASSERT_EQ(ends.size(), 3u);
    EXPECT_TRUE(ends[1].killed);
    for (const std::size_t other : {0, 2}) {
      ASSERT_FALSE(ends[other].status.has_value());
      EXPECT_EQ(ends[other].status.error().code, ErrorCode::node_lost)
          << ends[other].status.error().message;
    }
    trip.resumes_at = 2;
    expect_whole_trip(trip, expected);
  }
}

}  // namespace
}  // namespace godwit::cuda
