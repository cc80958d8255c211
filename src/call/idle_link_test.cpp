// Links that nobody uses are dropped, and nobody notices; what is said last still arrives.
#include <gtest/gtest.h>

#include "base/seeds_for_test.hpp"
#include "call/raw_peer.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Ending run(SimFleet& fleet, std::size_t node, SimFunction function, std::uint64_t hops = 0) {
  Record& record =
      fleet.call(fleet.client_process(0), fleet.node(node), 0, function, hops, seconds(10));
  EXPECT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(10)));
  EXPECT_EQ(record.text, "");
  return record.outcome.ending;
}

TEST(IdleLinks, AreDroppedAndMadeAnewByTheNextCall) {
  SimFleet fleet(1, {}, {});
  EXPECT_EQ(run(fleet, 0, work), Ending::ok);
  fleet.world().run_for(seconds(59));
  EXPECT_EQ(fleet.world().live_links(), 1U);
  fleet.world().run_for(seconds(62));
  EXPECT_EQ(fleet.world().live_links(), 0U);
  EXPECT_EQ(fleet.at(fleet.client_process(0))->engine->links_up(), 0U);
  EXPECT_EQ(run(fleet, 0, work), Ending::ok);
}

TEST(IdleLinks, StayWhereTheyAreNeverToBeDropped) {
  SimFleet::Shape shape;
  shape.idle_link = {};
  SimFleet fleet(1, {}, shape);
  EXPECT_EQ(run(fleet, 0, work), Ending::ok);
  fleet.world().run_for(hours(1));
  EXPECT_EQ(fleet.world().live_links(), 1U);
}

TEST(IdleLinks, AProcessWithoutLinksDoesNotWakeUp) {
  SimFleet fleet(2, {}, {});
  for (std::size_t node = 0; node < 4; ++node) EXPECT_EQ(run(fleet, node, travel, 5), Ending::ok);
  fleet.world().run_for(seconds(300));
  ASSERT_EQ(fleet.world().live_links(), 0U);
  const std::uint64_t events = fleet.world().counters().events;
  fleet.world().run_for(hours(24));
  EXPECT_EQ(fleet.world().counters().events, events);
}

TEST(IdleLinks, StayWhileControlMessagesPass) {
  SimFleet fleet(3, {}, {});
  Engine& engine = *fleet.at(fleet.node_process(0))->engine;
  for (int i = 0; i < 20; ++i) {
    engine.send_or_dial(fleet.node(1), wire::Kind::table, bytes_of("news"));
    fleet.world().run_for(seconds(20));
  }
  EXPECT_EQ(fleet.world().counters().links_made, 1U);
  EXPECT_EQ(fleet.world().live_links(), 1U);
}

// The function takes longer than the link may be idle.
TEST(IdleLinks, StayWhileACallIsOutstanding) {
  SimFleet::Shape shape;
  shape.idle_link = microseconds(100);
  SimFleet fleet(4, {}, shape);
  for (int i = 0; i < 50; ++i) {
    Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
    ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(10)));
    ASSERT_EQ(record.outcome.ending, Ending::ok) << record.text;
  }
}

// Calls cross the farewells again and again: on the same link, or on one made anew.
TEST(IdleLinks, LoseNoCallHoweverShortTheTime) {
  for (const std::uint64_t seed : Seeds(1, 20)) {
    SimFleet::Shape shape;
    shape.idle_link = microseconds(20 * (1 + seed % 20));
    shape.nodes = 3;
    shape.credits = 2;
    SimFleet fleet(seed, {}, shape);
    Random& random = fleet.world().random();
    for (int i = 0; i < 300; ++i) {
      const auto function = static_cast<SimFunction>(random.below(throws));
      fleet.call(fleet.client_process(random.below(2)), fleet.node(random.below(3)),
                 random.below(3), function, function == travel ? random.below(6) : 0, seconds(20));
      fleet.world().run_for(microseconds(random.below(400)));
    }
    ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(20)));
    for (const auto& record : fleet.records()) {
      ASSERT_EQ(record->outcome.ending, Ending::ok) << record->text;
    }
    fleet.world().run_for(seconds(10));
    EXPECT_EQ(fleet.world().live_links(), 0U);
    EXPECT_GT(fleet.world().counters().links_made, 20U) << "some were dropped in between";
  }
}

// A node that lost its link in good order is not lost, and says nothing to the fleet.
TEST(IdleLinks, EndWithoutAnError) {
  struct Watcher final : EngineObserver {
    void on_peer_down(NodeId, const Error& why) override { codes.push_back(why.code); }
    void on_unreachable(NodeId, const Error&) override { ++unreachable; }
    std::vector<ErrorCode> codes;
    int unreachable = 0;
  };
  for (const std::uint64_t seed : Seeds(1, 10)) {
    SimFleet fleet(seed, {}, {});
    Watcher watcher;
    fleet.at(fleet.client_process(0))->watcher = &watcher;
    fleet.at(fleet.node_process(0))->watcher = &watcher;
    EXPECT_EQ(run(fleet, 0, work), Ending::ok);
    fleet.world().run_for(seconds(200));
    EXPECT_EQ(watcher.codes, std::vector<ErrorCode>(2, ErrorCode::none)) << "both ends";
    EXPECT_EQ(watcher.unreachable, 0);
  }
}

// A bye tells how much there is to wait for, and messages overtake each other.
TEST(IdleLinks, EndWhenEverythingHasArrivedHoweverLate) {
  fabric::sim::Options in_order;
  in_order.reorder_chance = 0;
  SimFleet fleet(5, in_order, {});
  RawPeer peer(fleet);
  ASSERT_TRUE(fleet.world().run_until([&] { return peer.up; }, seconds(5)));
  const auto say_bye = [&](std::uint64_t sent) {
    wire::Header bye;
    bye.kind = wire::Kind::bye;
    bye.id = sent;
    peer.send(bye, {});
  };
  const auto still_up = [&] {
    fleet.world().run_for(milliseconds(10));
    return peer.up;
  };
  wire::Header other;
  other.kind = wire::Kind::pong;
  say_bye(2);
  say_bye(1);
  EXPECT_TRUE(still_up());
  EXPECT_EQ(peer.last.kind, wire::Kind::bye) << "the node agrees to part";
  peer.send(other, {});
  EXPECT_TRUE(still_up()) << "one message is still to come";
  peer.send(other, {});
  EXPECT_FALSE(still_up());
}

// Clients have a new identity each time: a node must not remember them all.
TEST(IdleLinks, TakeTheMemoryOfClientsWithThem) {
  SimFleet::Shape shape;
  shape.clients = 20;
  SimFleet fleet(6, {}, shape);
  for (std::size_t i = 0; i < shape.clients; ++i) {
    Record& record = fleet.call(fleet.client_process(i), fleet.node(0), 0, work, 0, seconds(10));
    ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(10)));
  }
  Engine& node = *fleet.at(fleet.node_process(0))->engine;
  EXPECT_EQ(node.peers_known(), 20U);
  fleet.world().run_for(seconds(200));
  EXPECT_EQ(node.peers_known(), 0U);
  EXPECT_EQ(fleet.at(fleet.client_process(0))->engine->peers_known(), 1U) << "nodes stay known";
}

// Acks of a stream leave so: posted from the thread that ends the process next.
TEST(LastWords, PostedBeforeAProcessEndsStillLeave) {
  SimFleet fleet(7, {}, {});
  EXPECT_EQ(run(fleet, 0, echo), Ending::ok);
  Posted posted;
  posted.owner = &fleet;
  posted.deliver = [](Engine&, Posted& last) {
    auto& from = *static_cast<SimFleet*>(last.owner);
    from.call(from.client_process(0), from.node(0), 0, echo, 0, seconds(10));
  };
  Engine& engine = *fleet.at(fleet.client_process(0))->engine;
  engine.post(posted);
  engine.shut_down();
  fleet.world().run_for(seconds(1));
  const Record& last = *fleet.records().back();
  EXPECT_EQ(fleet.executions()[std::pair(last.key, std::uint64_t{0})], 1U);
  EXPECT_EQ(last.outcome.ending, Ending::node_lost) << "nobody waits for the answer";
}

}  // namespace
}  // namespace godwit::call::sim
