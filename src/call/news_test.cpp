// Nodes that a process has not heard of yet: how long what is meant for them waits.
#include <gtest/gtest.h>

#include "base/seeds_for_test.hpp"
#include "call/sim_fleet.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeId kNobody{0xdead};
const Duration kWindow = Engine::Options{}.news_window;
// Of a simulated message and of a timer, several times over.
constexpr Duration kMoment = milliseconds(50);

// How long the call takes to end, at most ten seconds.
Duration time_to_end(SimFleet& fleet, const Record& record) {
  const Time before = fleet.world().now();
  EXPECT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(10)));
  return fleet.world().now() - before;
}

void all_travel_at_once(std::uint64_t seed) {
  SimFleet::Shape shape;
  shape.news_delay = milliseconds(900);
  SimFleet fleet(seed, {}, shape);
  for (std::size_t i = 0; i < 40; ++i) {
    fleet.call(fleet.client_process(i % 2), fleet.node(i % 4), i % 3, i % 4 == 0 ? work : travel,
               i % 4 == 0 ? 0 : 1 + i % 5, seconds(30));
  }
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(30)));
  for (const auto& record : fleet.records()) {
    ASSERT_EQ(record->outcome.ending, Ending::ok) << "seed " << seed << ": " << record->text;
  }
}

TEST(NewsOfNodes, FirstCallsOfAFreshFleetAllArrive) {
  for (const std::uint64_t seed : Seeds(1, 50)) all_travel_at_once(seed);
}

TEST(NewsOfNodes, CallToANodeNobodyHearsOfEndsWithTheWindow) {
  SimFleet fleet(1, {}, {});
  const Record& record = fleet.call(fleet.client_process(0), kNobody, 0, work, 0, seconds(30));
  const Duration took = time_to_end(fleet, record);
  EXPECT_GE(took, kWindow);
  EXPECT_LE(took, kWindow + kMoment);
  EXPECT_GE(fleet.at(fleet.client_process(0))->sought[kNobody], 40) << "it asks all the while";
  EXPECT_EQ(record.outcome.ending, Ending::node_lost);
  EXPECT_EQ(record.outcome.reason, ErrorCode::unreachable);
  EXPECT_FALSE(record.outcome.may_have_started);
}

TEST(NewsOfNodes, EachWaitsItsOwnWindow) {
  SimFleet fleet(1, {}, {});
  for (int i = 0; i < 3; ++i) {
    const Record& record = fleet.call(fleet.client_process(0), kNobody, 0, work, 0, seconds(30));
    EXPECT_GE(time_to_end(fleet, record), kWindow);
  }
}

TEST(NewsOfNodes, DeadlineEndsTheWaitBeforeTheWindow) {
  SimFleet fleet(1, {}, {});
  const Record& record = fleet.call(fleet.client_process(0), kNobody, 0, work, 0, kWindow / 5);
  EXPECT_LE(time_to_end(fleet, record), kWindow / 5 + kMoment);
  EXPECT_EQ(record.outcome.ending, Ending::deadline);
}

TEST(NewsOfNodes, NodeThatIsKnownAndDeadIsNotWaitedFor) {
  SimFleet fleet(1, {}, {});
  fleet.world().crash(fleet.node_process(2));
  const Record& record =
      fleet.call(fleet.client_process(0), fleet.node(2), 0, work, 0, seconds(30));
  EXPECT_LE(time_to_end(fleet, record), kMoment);
  EXPECT_EQ(record.outcome.ending, Ending::node_lost);
}

TEST(NewsOfNodes, NoNodeIsNotWaitedFor) {
  SimFleet fleet(1, {}, {});
  const Record& record = fleet.call(fleet.client_process(0), NodeId{}, 0, work, 0, seconds(30));
  EXPECT_LE(time_to_end(fleet, record), kMoment);
  EXPECT_EQ(record.outcome.ending, Ending::node_lost);
}

TEST(NewsOfNodes, NodeThatWasLinkedAndDiedIsNotWaitedFor) {
  SimFleet fleet(1, {}, {});
  const Record& first = fleet.call(fleet.client_process(0), fleet.node(2), 0, work, 0, seconds(30));
  time_to_end(fleet, first);
  fleet.world().crash(fleet.node_process(2));
  fleet.world().run_for(kMoment);
  fleet.at(fleet.client_process(0))->news[fleet.node(2)] = Time{INT64_MAX};
  const Record& second =
      fleet.call(fleet.client_process(0), fleet.node(2), 0, work, 0, seconds(30));
  EXPECT_LE(time_to_end(fleet, second), kMoment);
  EXPECT_EQ(second.outcome.ending, Ending::node_lost);
}

// The first call goes from node 2 to node 0 and ends at node 1, which answers node 2.
TEST(NewsOfNodes, AnswerOfATravellingCallWaitsToo) {
  SimFleet fleet(1, {}, {});
  fleet.at(fleet.node_process(1))->news[fleet.node(2)] = fleet.world().now() + kWindow / 2;
  const Record& record =
      fleet.call(fleet.client_process(0), fleet.node(2), 0, travel, 2, seconds(30));
  const Duration took = time_to_end(fleet, record);
  EXPECT_GE(took, kWindow / 2) << "it went another way";
  EXPECT_LE(took, kWindow);
  EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
}

}  // namespace
}  // namespace godwit::call::sim
