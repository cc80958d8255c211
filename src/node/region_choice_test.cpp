// How operations choose to get at elements, on real fleets.
#include <gmock/gmock.h>

#include "godwit/explain.hpp"
#include "node/fleet_for_test.hpp"

namespace godwit::node {
namespace {

using ops::Mechanism;
using testing::HasSubstr;
using Words = Region<std::uint64_t>;

Words ring(Fleet& fleet, std::uint64_t elements) {
  auto region = Words::create(fleet, "ring", {.elements = elements});
  if (!region) ADD_FAILURE() << region.error().message;
  std::vector<std::uint64_t> next(elements);
  // 7 and the number of elements have no common divisor: one cycle through all shards.
  for (std::uint64_t i = 0; i < elements; ++i) next[i] = (i + 7) % elements;
  EXPECT_TRUE(region->store(0, next));
  return *std::move(region);
}

const ops::Candidate& candidate(const ops::Decision& decision, Mechanism mechanism) {
  for (const ops::Candidate& one : decision.candidates) {
    if (one.mechanism == mechanism) return one;
  }
  ADD_FAILURE() << "no such candidate";
  return decision.candidates.front();
}

TEST(RegionChoice, MappedShardsAreLoadedAndTheRestIsMeasured) {
  Fleet fleet = local(2);
  const Words list = ring(fleet, 30);
  const ops::Decision decision = ops::explain(list, 64);
  EXPECT_EQ(decision.chosen, Mechanism::direct);
  ASSERT_EQ(decision.shards.size(), 2U);
  for (const ops::ShardCost& shard : decision.shards) {
    EXPECT_TRUE(shard.mapped && shard.load_ns && shard.get_ns && shard.hop_ns) << shard.shard;
    EXPECT_DOUBLE_EQ(shard.share, 0.5);
  }
  EXPECT_THAT(ops::to_text(decision), HasSubstr("64 steps: direct, because every shard is mapped"));
  EXPECT_EQ(value_of(ops::chase(list, 0, 31).get()), 31U * 7U % 30U);
}

TEST(RegionChoice, OverTcpTheCheaperOfGetsAndCodeIsTaken) {
  Fleet fleet = local(2, {.transport = LocalTransport::tcp});
  const Words list = ring(fleet, 30);
  const ops::Decision decision = ops::explain(list, 64);
  EXPECT_FALSE(candidate(decision, Mechanism::direct).possible);
  const double get_ns = candidate(decision, Mechanism::get).expected_ns;
  const double code_ns = candidate(decision, Mechanism::code).expected_ns;
  EXPECT_GT(get_ns, 0);
  EXPECT_GT(code_ns, 0);
  EXPECT_EQ(decision.chosen, get_ns < code_ns ? Mechanism::get : Mechanism::code);
  EXPECT_EQ(ops::explain(list, 1).chosen, Mechanism::get);
  const ops::Decision forced = ops::explain(list, 1, Mechanism::code);
  EXPECT_EQ(forced.chosen, Mechanism::code);
  EXPECT_EQ(forced.why, "it was asked for");
}

TEST(RegionChoice, EveryMechanismComesToTheSameElement) {
  Fleet fleet = local(2, {.transport = LocalTransport::tcp});
  const Words list = ring(fleet, 30);
  for (const std::uint64_t steps : {1U, 2U, 64U}) {
    for (const auto mechanism : {Mechanism::automatic, Mechanism::get, Mechanism::code}) {
      EXPECT_EQ(value_of(ops::chase(list, 3, steps, mechanism).get()), (3 + 7 * steps) % 30);
    }
  }
  EXPECT_EQ(value_of(ops::chase(list, 3, 0).get()), 3U);
}

TEST(RegionChoice, AFigureIsMeasuredOnceAMinute) {
  Fleet fleet = local(2, {.transport = LocalTransport::tcp});
  const Words list = ring(fleet, 30);
  const ops::Decision first = ops::explain(list, 64);
  const ops::Decision second = ops::explain(list, 64);
  for (std::size_t i = 0; i < first.shards.size(); ++i) {
    // On a machine too busy to measure in time a figure may be missing, and is measured then.
    const ops::ShardCost& was = first.shards[i];
    const ops::ShardCost& is = second.shards[i];
    EXPECT_EQ(was.get_ns.value_or(0), was.get_ns ? is.get_ns.value_or(0) : 0);
    EXPECT_EQ(was.hop_ns.value_or(0), was.hop_ns ? is.hop_ns.value_or(0) : 0);
  }
}

}  // namespace
}  // namespace godwit::node
