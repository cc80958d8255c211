#include "forward/fleet/rank_host.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/folder_for_test.hpp"
#include "base/random.hpp"
#include "base/seeds_for_test.hpp"

namespace godwit::forward {
namespace {

RankPlan some_plan() {
  RankPlan plan;
  plan.exchange = {11, 12};
  plan.meet = {.rank = 1, .ranks = 4, .address = "shm:///nowhere/at/all", .way = Way::shm};
  plan.meet.patience = std::chrono::milliseconds(50);
  plan.options = {.chunk_bytes = 2048, .queue_bytes = 1 << 20, .workers = 3, .deterministic = true};
  plan.options.patience = plan.meet.patience;
  plan.pace = Pace::rounds;
  return plan;
}

Result<RankPlan> read(const RankOrder& order) {
  return read_order(bytes_of_value(order));
}

TEST(RankPlan, IsReadAsItWasWritten) {
  const auto order = write_order(some_plan());
  ASSERT_TRUE(order) << order.error().message;
  const auto plan = read(*order);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->exchange, some_plan().exchange);
  EXPECT_EQ(plan->meet.rank, 1);
  EXPECT_EQ(plan->meet.ranks, 4);
  EXPECT_EQ(plan->meet.address, "shm:///nowhere/at/all");
  EXPECT_EQ(plan->meet.way, Way::shm);
  EXPECT_EQ(plan->meet.patience, std::chrono::milliseconds(50));
  EXPECT_EQ(plan->options.chunk_bytes, 2048U);
  EXPECT_EQ(plan->options.queue_bytes, 1U << 20U);
  EXPECT_EQ(plan->options.workers, 3U);
  EXPECT_TRUE(plan->options.deterministic);
  EXPECT_EQ(plan->pace, Pace::rounds);
}

TEST(RankPlan, OrdersThatMakeNoSenseAreRefused) {
  const RankOrder good = write_order(some_plan()).value();
  const auto expect_refused = [&](const char* what, auto&& spoil) {
    RankOrder bad = good;
    spoil(bad);
    const auto plan = read(bad);
    ASSERT_FALSE(plan) << what;
    EXPECT_EQ(plan.error().code, ErrorCode::invalid_argument) << what;
  };
  expect_refused("rank", [](RankOrder& bad) { bad.rank = -1; });
  expect_refused("rank beyond", [](RankOrder& bad) { bad.rank = bad.nodes + 1; });
  expect_refused("nodes", [](RankOrder& bad) { bad.nodes = 0; });
  expect_refused("many nodes", [](RankOrder& bad) { bad.nodes = INT32_MAX; });
  expect_refused("queue", [](RankOrder& bad) { bad.queue_bytes = UINT64_MAX; });
  expect_refused("spill", [](RankOrder& bad) { bad.spill_bytes = UINT64_MAX; });
  expect_refused("no workers", [](RankOrder& bad) { bad.workers = 0; });
  expect_refused("workers", [](RankOrder& bad) { bad.workers = UINT32_MAX; });
  expect_refused("patience", [](RankOrder& bad) { bad.patience_ms = 0; });
  expect_refused("deterministic", [](RankOrder& bad) { bad.deterministic = 2; });
  expect_refused("pace", [](RankOrder& bad) { bad.pace = 9; });
  expect_refused("way", [](RankOrder& bad) { bad.way = 9; });
  expect_refused("address", [](RankOrder& bad) { bad.address_size = 255; });
  EXPECT_FALSE(read_order(bytes_of_value(good).first(100)));

  RankPlan plan = some_plan();
  plan.options.shares_work = 1;
  EXPECT_FALSE(write_order(plan));
  plan = some_plan();
  plan.meet.address = "shm://" + std::string(300, 'x');
  EXPECT_FALSE(write_order(plan));
}

// A rank that has what mobile code would give it.
class ARank : public testing::Test {
 protected:
  ARank() {
    rank_.size = sizeof rank_;
    rank_.item_size = 16;
    rank_.item_align = 8;
    rank_.item_type = "u64";
    rank_.item_type_size = 3;
    rank_.order = &order_;
    rank_.order_size = sizeof order_;
    rank_.process = [](void*, const void*, std::size_t, const godwit_outgoing*) {
      ADD_FAILURE() << "there is nothing to process";
    };
  }
  void meet_in_folder() {
    RankPlan plan = some_plan();
    plan.meet.address = "shm://" + folder_.path().string();
    order_ = write_order(plan).value();
  }
  [[nodiscard]] Status run(RankHost& host) {
    return host.run(rank_, [] { return std::optional<Error>{}; });
  }
  [[nodiscard]] ErrorCode code() {
    RankHost host({.name = "n0", .key = {}, .addresses_of = {}, .max_ranks = limit_});
    const Status ran = run(host);
    return ran ? ErrorCode::none : ran.error().code;
  }

  TestFolder folder_;
  RankOrder order_ = write_order(some_plan()).value();
  godwit_rank_v1 rank_{};
  std::size_t limit_ = 1;
};

TEST_F(ARank, DoesNotWaitForEverForTheOthers) {
  meet_in_folder();
  EXPECT_EQ(code(), ErrorCode::deadline);
}

TEST_F(ARank, StopsWaitingWhenItIsTold) {
  meet_in_folder();
  order_.patience_ms = 60'000;
  RankHost host({.name = "n0", .key = {}, .addresses_of = {}});
  const Status ran = host.run(
      rank_, [] { return std::optional<Error>(Error{ErrorCode::cancelled, "nobody is there"}); });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
}

TEST_F(ARank, IsRefusedIfItCannotBe) {
  limit_ = 0;
  EXPECT_EQ(code(), ErrorCode::overload);
  limit_ = 1;
  order_.rank = order_.nodes;  // the program's
  EXPECT_EQ(code(), ErrorCode::invalid_argument);
  order_.rank = 1;
  for (const std::uint32_t size : {0U, 4U, 1'000'000U}) {
    rank_.item_size = size;
    EXPECT_EQ(code(), ErrorCode::invalid_argument) << size;
  }
}

// Whatever the bytes are, it ends, and nothing is processed.
TEST_F(ARank, SurvivesOrdersOfRandomBytes) {
  for (const std::uint64_t seed : Seeds(1, 200)) {
    Random random(seed);
    order_ = write_order(some_plan()).value();
    order_.patience_ms = 1;
    order_.workers = 1;
    auto* const bytes = reinterpret_cast<unsigned char*>(&order_);
    for (int changed = 0; changed < 3; ++changed) {
      const std::uint64_t at = random.next() % sizeof order_;
      if (at >= offsetof(RankOrder, patience_ms) && at < offsetof(RankOrder, deterministic))
        continue;
      bytes[at] = static_cast<unsigned char>(random.next());
    }
    EXPECT_NE(code(), ErrorCode::none);
  }
}

TEST(RankHost, KeysFollowFromTheFleetsKeyAndTheExchange) {
  const auto addresses = [](NodeId) { return std::vector<std::string>{}; };
  const trust::FleetKey key = trust::FleetKey::generate();
  const RankHost one({.name = "a", .key = key, .addresses_of = addresses});
  const RankHost two({.name = "b", .key = key, .addresses_of = addresses});
  const RankHost other(
      {.name = "c", .key = trust::FleetKey::generate(), .addresses_of = addresses});
  const RankHost open({.name = "d", .key = {}, .addresses_of = addresses});
  EXPECT_EQ(one.key_of({1, 2}), two.key_of({1, 2}));
  EXPECT_EQ(one.key_of({1, 2}).size(), 64U);
  EXPECT_NE(one.key_of({1, 2}), one.key_of({2, 1}));
  EXPECT_NE(one.key_of({1, 2}), other.key_of({1, 2}));
  EXPECT_NE(one.key_of({1, 2}), key.hex());
  EXPECT_EQ(open.key_of({1, 2}), "");
}

}  // namespace
}  // namespace godwit::forward
