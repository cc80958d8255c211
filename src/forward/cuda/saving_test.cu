// Checkpoints and timelines of ranks on a GPU; skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/folder_for_test.hpp"
#include "forward/cuda/accounts_for_test.cuh"
#include "forward/cuda/order_for_test.cuh"
#include "forward/cuda/trips_for_test.cuh"
#include "trace/json_value.hpp"

namespace godwit::cuda {
namespace {

using testing::HasSubstr;

class CudaSaving : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU here";
  }
  [[nodiscard]] std::string path() const { return (folder_ / "saved").string(); }
  static Result<Account4> travel_all(const Trip& trip) {
    std::vector<Account4> accounts(trip.letters.size());
    const Status done = run_ranks(trip.ranks(), [&](Group& group) {
      return travel(group, trip, accounts[static_cast<std::size_t>(group.rank())]);
    });
    if (!done) return tl::unexpected(done.error());
    Account4 all;
    for (const Account4& one : accounts) all = all + one;
    return all;
  }
  // What the manifest of the checkpoint says; 0: there is none.
  [[nodiscard]] std::uint64_t saved(const std::string& key) const {
    std::ifstream manifest(path() + "/manifest");
    std::uint64_t value = 0;
    for (std::string word; manifest >> word;) {
      if (word == key) manifest >> value;
    }
    return value;
  }
  static void expect_account(const Trip& trip, const Account4& expected) {
    const auto account = travel_all(trip);
    ASSERT_TRUE(account.has_value()) << trip.letters << ": " << account.error().message;
    EXPECT_EQ(account->items, expected.items) << trip.letters;
    EXPECT_EQ(account->hashes, expected.hashes) << trip.letters;
    EXPECT_EQ(account->fares, expected.fares) << trip.letters;
    EXPECT_EQ(account->torn, 0u) << trip.letters;
  }

  TestFolder folder_;
};

TEST_F(CudaSaving, ARunIsGoneOnWithByRanksOfAnyKindAndNumber) {
  for (const char* const first : {"gg", "cc", "cg", "gh", "hcgg"}) {
    // Rounds 1 to 6 bring items, and the fourth is saved.
    Trip trip{.letters = first, .folder = path(), .saves_every = 4};
    const Account4 expected = trip.expected(trip.ranks());
    expect_account(trip, expected);
    trip.resumes_at = 4;
    trip.saves_every = 0;
    for (const char* const later : {first, "g", "ggg", "cc", "c", "cg", "gch", "ghgc"}) {
      trip.letters = later;
      expect_account(trip, expected);
    }
  }
}

TEST_F(CudaSaving, WhatSpilledOrFillsManyChunksIsSavedToo) {
  // 2 x 9.6 MB, twice, in 8 MiB of the GPU and the host's memory.
  Trip trip{.folder = path(),
            .each = 150'000,
            .hops = 2,
            .saves_every = 2,
            .gpu = {.queue_bytes = 4 << 20, .spill_bytes = 64 << 20}};
  const Account4 expected = trip.expected(2);
  expect_account(trip, expected);
  trip.resumes_at = 2;
  trip.saves_every = 0;
  for (const char* const later : {"gg", "cc", "ggg"}) {
    trip.letters = later;
    expect_account(trip, expected);
  }
}

// Two rounds, of which the second is saved: with items that wait for room.
template <class Traveller>
Status travel_two_rounds(Group& group, const Trip& trip) {
  const auto traveller = Traveller::create(group, trip);
  if (!traveller) return status_of(traveller);
  auto& exchange = (*traveller)->exchange;
  Status end = (*traveller)->begin(trip);
  if (end) end = status_of(exchange.advance());
  if (end) end = (*traveller)->process(trip);
  if (!end) return end;
  const auto second = exchange.advance();
  if (!second) return status_of(second);
  EXPECT_GT(second->held_back, 0u);
  return exchange.checkpoint(trip.folder);
}

TEST_F(CudaSaving, WhatWaitsForRoomIsSavedAndGoesOnWaiting) {
  // All goes to the GPU: three times 80,000 items of 64 bytes, for 16 MiB of which half is for
  // them.
  Trip trip{.letters = "cgc",
            .folder = path(),
            .each = 80'000,
            .hops = 1,
            .pattern = Pattern::all_to_one,
            .gpu = {.queue_bytes = 16 << 20}};
  const Account4 expected = trip.expected(3);
  const Status done = run_ranks(3, [&](Group& group) {
    return group.rank() == 1 ? travel_two_rounds<GpuTraveller>(group, trip)
                             : travel_two_rounds<CpuTraveller>(group, trip);
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  trip.resumes_at = 2;
  for (const char* const later : {"cgc", "ccc", "chg", "ggg"}) {
    trip.letters = later;
    expect_account(trip, expected);
  }
}

TEST_F(CudaSaving, RoundsOfOnesOwnAreSavedRightAfterAdvanceOnly) {
  Trip trip{.letters = "ggg", .folder = path()};
  const Account4 expected = trip.expected(3);
  const Status done = run_ranks(3, [&](Group& group) -> Status {
    const auto traveller = GpuTraveller::create(group, trip);
    if (!traveller) return status_of(traveller);
    auto& exchange = (*traveller)->exchange;
    const auto refused = [&] {
      const Status end = exchange.checkpoint(path());
      return !end && end.error().code == ErrorCode::invalid_argument;
    };
    if (Status begun = (*traveller)->begin(trip); !begun) return begun;
    EXPECT_TRUE(refused()) << "items were emitted";
    for (std::uint64_t number = 1; number <= 3; ++number) {
      const auto round = exchange.advance();
      if (!round) return status_of(round);
      EXPECT_EQ(round->number, number);
      EXPECT_FALSE(exchange.checkpoint("/dev/null/nowhere").has_value());
      if (Status end = exchange.checkpoint(path()); !end) return end;
      if (Status end = (*traveller)->process(trip); !end) return end;
      EXPECT_TRUE(refused()) << "items were processed";
    }
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  trip.resumes_at = 3;
  expect_account(trip, expected);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path())) ++files;
  EXPECT_EQ(files, 4u);
}

TEST_F(CudaSaving, ADeterministicExchangeGoesOnInTheSameOrder) {
  constexpr std::uint32_t kFew = 20'000;
  Accounts accounts(3);
  for (const std::uint64_t stop : {2, 3, 0}) {
    const Status done = run_ranks(3, [&](Group& group) {
      return walk_in_order(group, accounts.ledger(), kFew, {.folder = path(), .stops_at = stop});
    });
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  EXPECT_EQ(accounts.check(), 3 * kFew * 40);
}

TEST_F(CudaSaving, WhatCannotBeGoneOnWithIsToldOnEveryRank) {
  const auto code_of = [&](const Trip& trip) {
    const auto account = travel_all(trip);
    return account ? ErrorCode::none : account.error().code;
  };
  Trip trip{.folder = path(), .saves_every = 4};
  ASSERT_EQ(code_of(trip), ErrorCode::none);
  trip.resumes_at = 4;
  trip.saves_every = 0;
  EXPECT_EQ(code_of(trip), ErrorCode::none);

  trip.gpu.queue_bytes = 1;  // a chunk, for two kinds and ranks
  const auto crowded = travel_all(trip);
  ASSERT_FALSE(crowded.has_value());
  EXPECT_EQ(crowded.error().code, ErrorCode::resource_exhausted) << crowded.error().message;
  EXPECT_THAT(crowded.error().message, HasSubstr("items of a checkpoint found no room"));
  trip.gpu.queue_bytes = 32 << 20;

  const Status astray = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = GpuTraveller::TheExchange::create(group, trip.gpu);
    if (!exchange) return status_of(exchange);
    exchange->keep([] { return std::string(); }, [](std::span<const std::byte>, Rank) {});
    return status_of(exchange->restore(path(), [](const auto&, Rank) { return 7; }));
  });
  ASSERT_FALSE(astray.has_value());
  EXPECT_EQ(astray.error().code, ErrorCode::invalid_argument) << astray.error().message;

  const Status others = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, trip.gpu);
    return exchange ? status_of(exchange->resume(path())) : status_of(exchange);
  });
  ASSERT_FALSE(others.has_value());
  EXPECT_EQ(others.error().code, ErrorCode::type_mismatch) << others.error().message;

  const std::string part = path() + "/items-" + std::to_string(saved("number")) + "-1.gdi";
  {
    std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(part) / 2));
    file.put('!');
  }
  const auto damaged = travel_all(trip);
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().code, ErrorCode::bad_format);
  EXPECT_THAT(damaged.error().message, HasSubstr("-1.gdi is damaged"));
  std::filesystem::remove_all(path());
  const Status nothing = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker<64>>::create(group, trip.gpu);
    if (!exchange) return status_of(exchange);
    EXPECT_EQ(exchange->resume(path()).value_or(1), 0u);
    return status_of(exchange->restore(path()));
  });
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code, ErrorCode::not_found);
}

// Sums of what events of these names tell, and how many there are.
struct Told {
  std::uint64_t events = 0;
  std::uint64_t items = 0;
};
Told told_of(const trace::JsonValue& timeline, const std::string& name) {
  Told told;
  for (const trace::JsonValue& event : timeline["traceEvents"].items()) {
    if (event["name"].text() != name) continue;
    ++told.events;
    told.items += event["args"]["value"].count();
  }
  return told;
}

TEST_F(CudaSaving, ATimelineHasTheRoundsOfEveryRankAndAllItsItems) {
  for (const char* const letters : {"ggg", "ggh"}) {
    const std::string file = (folder_ / "trace.json").string();
    Trip trip{.letters = letters, .gpu = {.queue_bytes = 32 << 20, .trace_events = 1000}};
    const Status done = run_ranks(3, [&](Group& group) -> Status {
      const auto traveller = GpuTraveller::create(group, trip);
      if (!traveller) return status_of(traveller);
      Status end = (*traveller)->begin(trip);
      auto& exchange = (*traveller)->exchange;
      const TravelOn on{(*traveller)->place(), trip.pattern};
      if (end) end = status_of(exchange.advance());
      if (end) end = exchange.process(on);
      if (end) end = status_of(exchange.run(on));
      return end ? exchange.save_trace(file) : end;
    });
    ASSERT_TRUE(done.has_value()) << done.error().message;
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    for (const char* const rank : {"rank 0", "rank 1", "rank 2"}) {
      EXPECT_THAT(text.str(), HasSubstr(rank));
    }
    const auto timeline = trace::JsonValue::parse(text.str());
    ASSERT_TRUE(timeline.has_value()) << text.str().substr(0, 300);
    const Told first = told_of(*timeline, "advance");
    EXPECT_EQ(first.events, 3u);
    EXPECT_EQ(first.items, 3 * trip.each);
    EXPECT_EQ(told_of(*timeline, "process").events, 3u);
    EXPECT_EQ(told_of(*timeline, "process").items, 3 * trip.each);
    // The last is the one that brings nothing.
    const Told rounds = told_of(*timeline, "round");
    EXPECT_EQ(rounds.events, 3 * (trip.hops + 1));
    EXPECT_EQ(first.items + rounds.items, trip.expected(3).items) << letters;
    EXPECT_GT(told_of(*timeline, "queue bytes at most").events, 0u);
  }
}

}  // namespace
}  // namespace godwit::cuda
