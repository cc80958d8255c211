#include "ops/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/costs.hpp"

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

// Four equal shards, all of them mapped.
StepCosts near() {
  auto shards = far(1'000, 500);
  for (ShardCost& shard : shards) {
    shard.mapped = true;
    shard.load_ns = 5;
    shard.work_ns = 10'000;
    shard.pull_byte_ns = 0.5;
  }
  return step_costs(shards, 0.25);
}

TEST(Choice, FoldsASmallMappedRegionWithLoadsAndSendsCodeToALargeOne) {
  const Work few{.operation = Operation::reduce, .amount = 1'000};
  const Expected expected = expect(near(), few, 8);
  EXPECT_DOUBLE_EQ(expected.direct_ns, 8'000 * 0.25);
  EXPECT_DOUBLE_EQ(expected.code_ns, 2 * 10'000 + 8'000 * 0.25 / 4) << "two levels, four at work";
  EXPECT_EQ(choose(near(), few, 8), Mechanism::direct);
  EXPECT_EQ(choose(near(), {.operation = Operation::reduce, .amount = 1'000'000}, 8),
            Mechanism::code);
}

TEST(Choice, PullsWhatIsSmallerThanTheCallThatWouldReduceIt) {
  StepCosts costs = near();
  costs.all_mapped = false;
  EXPECT_EQ(choose(costs, {.operation = Operation::reduce, .amount = 10}, 8), Mechanism::get);
  EXPECT_EQ(choose(costs, {.operation = Operation::reduce, .amount = 100'000}, 8), Mechanism::code);
}

TEST(Choice, AGetLeavesNothingForCodeToDo) {
  StepCosts costs = near();
  for (const Operation operation : {Operation::get, Operation::gather}) {
    const Work work{.operation = operation, .amount = 1'000'000};
    costs.all_mapped = true;
    EXPECT_FALSE(expect(costs, work, 8).code_possible);
    EXPECT_EQ(choose(costs, work, 8), Mechanism::direct);
    costs.all_mapped = false;
    EXPECT_EQ(choose(costs, work, 8), Mechanism::get);
  }
}

TEST(Choice, AKeyOfATableIsOneCallUnlessItsSlotIsMapped) {
  StepCosts costs = near();
  EXPECT_EQ(choose(costs, {.operation = Operation::hash_get, .amount = 1}, 24), Mechanism::direct);
  costs.all_mapped = false;
  EXPECT_EQ(choose(costs, {.operation = Operation::hash_get, .amount = 1}, 24), Mechanism::code);
}

TEST(Choice, AFewVerticesAreGatheredHereAndManyWhereTheyLie) {
  const auto hops_to = [](std::uint64_t vertices) {
    return choose(near(), {.operation = Operation::k_hop, .amount = vertices, .hops = 2}, 8);
  };
  EXPECT_EQ(hops_to(10), Mechanism::direct);
  StepCosts costs = near();
  costs.direct_step_ns = 100;  // out of the caches, loads of four nodes at a time pay
  EXPECT_EQ(choose(costs, {.operation = Operation::k_hop, .amount = 1'000'000, .hops = 2}, 8),
            Mechanism::code);
}

TEST(CostBook, MovesAFigureTowardsWhatRealGetsTake) {
  CostBook book;
  const NodeId node{1};
  book.observe_get(node, 5'000'000);
  EXPECT_FALSE(book.get(node)) << "the first get may have had to connect";
  book.set_get(node, 1'000);
  book.observe_get(node, 9'000);
  EXPECT_DOUBLE_EQ(book.get(node)->ns, 2'000);
  for (int i = 0; i < 100; ++i) book.observe_get(node, 9'000);
  EXPECT_NEAR(book.get(node)->ns, 9'000, 1);
}

TEST(Operation, HasANameThatLeadsBack) {
  for (const Operation operation :
       {Operation::chase, Operation::get, Operation::gather, Operation::list_find,
        Operation::tree_find, Operation::hash_get, Operation::k_hop, Operation::reduce}) {
    EXPECT_EQ(operation_named(to_string(operation)), operation);
  }
  EXPECT_FALSE(operation_named("guess"));
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
