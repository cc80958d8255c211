#include "fleet/embedded_directory.hpp"

#include <gtest/gtest.h>

#include "fleet/sim_fleet.hpp"

namespace godwit::fleet {
namespace {

using namespace std::chrono_literals;

TEST(EmbeddedDirectory, WhatOneWritesTheOthersReadThroughTheInterface) {
  SimFleet fleet(1, 4);
  ASSERT_GE(fleet.seconds_until([&] { return fleet.settled(); }, 20s), 0);
  Directory& writer = fleet.of(fleet.processes[0]);
  Directory& reader = fleet.of(fleet.processes[3]);
  int told = 0;
  const WatchId watch = reader.watch([&told](const Change& change) {
    told += change.name != nullptr && change.name->key == "answer" ? 1 : 0;
  });
  Version version;
  writer.put_name("answer", bytes_of("42"), [&](Result<Version> done) { version = done.value(); });
  ASSERT_GE(fleet.seconds_until([&] { return reader.find_name("answer").has_value(); }, 5s), 0);
  EXPECT_EQ(text_of(reader.find_name("answer")->value), "42");
  EXPECT_EQ(reader.find_name("answer")->version, version);
  EXPECT_EQ(told, 1);
  reader.unwatch(watch);

  bool written = false;
  reader.compare_and_put("answer", version, bytes_of("43"),
                         [&](Result<Version> done) { written = done.has_value(); });
  EXPECT_TRUE(written);
  reader.erase_name("answer", [](Result<Version> done) { EXPECT_TRUE(done); });
  ASSERT_GE(fleet.seconds_until([&] { return !writer.find_name("answer"); }, 5s), 0);
  EXPECT_TRUE(writer.names("").empty());
}

TEST(EmbeddedDirectory, ANodeThatLeavesSaysSoToTheOthers) {
  SimFleet fleet(2, 4);
  ASSERT_GE(fleet.seconds_until([&] { return fleet.settled(); }, 20s), 0);
  const NodeId leaver = fleet.world.node_id(fleet.processes[2]);
  fleet.of(fleet.processes[2]).leave();
  EXPECT_GE(
      fleet.seconds_until(
          [&] { return fleet.of(fleet.processes[0]).node(leaver)->state == NodeState::leaving; },
          5s),
      0);
  EXPECT_EQ(fleet.of(fleet.processes[0]).find("n3")->id, leaver);
}

// Neither a push nor a round brings the news: the one who joined first hears of the last only if it
// asks.
TEST(EmbeddedDirectory, ANodeThatSomebodyWaitsForIsLookedForAtOnce) {
  SimFleet fleet(3, 2, {}, {.interval = 1h, .push_delay = 1h});
  fleet.world.run_for(10s);
  const NodeId last = fleet.world.node_id(fleet.add());
  fleet.world.run_for(10s);
  Directory& directory = fleet.of(fleet.processes[1]);
  ASSERT_TRUE(fleet.of(fleet.processes[0]).node(last));
  ASSERT_FALSE(directory.node(last));
  directory.seek(last);
  EXPECT_GE(fleet.seconds_until([&] { return directory.node(last).has_value(); }, 1s), 0);
}

}  // namespace
}  // namespace godwit::fleet
