#include "ops/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::ops {
namespace {

// Four equal shards, none of them mapped.
std::vector<ShardCost> far(double get_ns, double hop_ns) {
  std::vector<ShardCost> shards;
  for (std::uint32_t i = 0; i < 4; ++i) {
    shards.push_back({.shard = i, .node = "n", .share = 0.25, .get_ns = get_ns, .hop_ns = hop_ns});
  }
  return shards;
}

TEST(Choice, LoadsDirectlyWhereEverythingIsMapped) {
  auto shards = far(300, 200);
  for (ShardCost& shard : shards) {
    shard.mapped = true;
    shard.load_ns = 50;
  }
  EXPECT_EQ(choose(step_costs(shards), 1), Mechanism::direct);
  EXPECT_EQ(choose(step_costs(shards), 4096), Mechanism::direct);
}

TEST(Choice, SendsCodeWhereHopsAreCheaperThanGets) {
  const StepCosts costs = step_costs(far(10'000, 7'000));
  EXPECT_DOUBLE_EQ(costs.hop_share, 0.75);
  EXPECT_DOUBLE_EQ(costs.get_ns(64), 640'000);
  EXPECT_DOUBLE_EQ(costs.code_ns(64), 10'000 + 63 * (100 + 0.75 * 7'000));
  EXPECT_EQ(choose(costs, 64), Mechanism::code);
}

TEST(Choice, AsksForASingleElement) {
  EXPECT_EQ(choose(step_costs(far(10'000, 1)), 1), Mechanism::get);
}

TEST(Choice, AsksWhereHopsAreDearerThanGets) {
  // A client beside the data, nodes far from each other.
  EXPECT_EQ(choose(step_costs(far(10'000, 50'000)), 64), Mechanism::get);
}

TEST(Choice, MappedShardsMakeGetsCheaper) {
  auto shards = far(10'000, 7'000);
  for (std::uint32_t i = 0; i < 3; ++i) {
    shards[i].mapped = true;
    shards[i].load_ns = 100;
    shards[i].get_ns = 500;
  }
  const StepCosts costs = step_costs(shards);
  EXPECT_DOUBLE_EQ(costs.get_step_ns, 0.75 * 100 + 0.25 * 10'000);
  EXPECT_EQ(choose(costs, 64), Mechanism::get);
}

TEST(Choice, SendsCodeWhenNothingIsKnown) {
  auto shards = far(0, 0);
  for (ShardCost& shard : shards) {
    shard.get_ns.reset();
    shard.hop_ns.reset();
  }
  EXPECT_EQ(choose(step_costs(shards), 1), Mechanism::code);
  EXPECT_EQ(choose(step_costs(std::vector<ShardCost>{}), 1), Mechanism::code);
}

TEST(Choice, AShardThatCouldNotBeMeasuredCountsAsTheOthers) {
  auto shards = far(10'000, 7'000);
  shards[2].get_ns.reset();
  shards[2].hop_ns.reset();
  EXPECT_DOUBLE_EQ(step_costs(shards).get_step_ns, 10'000);
  EXPECT_DOUBLE_EQ(step_costs(shards).code_step_ns, step_costs(far(10'000, 7'000)).code_step_ns);
}

TEST(Choice, TextNamesTheDecisionItsFiguresAndWhy) {
  Decision decision;
  decision.chosen = Mechanism::code;
  decision.why = "it was asked for";
  decision.steps = 7;
  decision.shards = far(10'000, 7'000);
  decision.candidates = {{Mechanism::direct, false, 0}, {Mechanism::code, true, 2'500}};
  const std::string text = to_text(decision);
  using testing::HasSubstr;
  EXPECT_THAT(text, HasSubstr("7 steps: code, because it was asked for"));
  EXPECT_THAT(text, HasSubstr("not possible"));
  EXPECT_THAT(text, HasSubstr("2.5 us"));
  EXPECT_THAT(text, HasSubstr("7.0 us"));
}

}  // namespace
}  // namespace godwit::ops
