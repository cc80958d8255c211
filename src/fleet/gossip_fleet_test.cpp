// Whole fleets in simulated time: do all tables become alike, how fast, and at what price?
#include <gtest/gtest.h>

#include <cstdio>

#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "fabric/sim/chaos.hpp"
#include "fleet/sim_fleet.hpp"

namespace godwit::fleet {
namespace {

using namespace std::chrono_literals;

class FleetOf : public testing::TestWithParam<std::size_t> {};

std::string size_name(const testing::TestParamInfo<std::size_t>& param) {
  return std::to_string(param.param) + "Nodes";
}

TEST_P(FleetOf, ConvergesAfterJoinsUpdatesAndCrashes) {
  const std::size_t size = GetParam();
  SimFleet fleet(size, size);
  const double join_s = fleet.seconds_until([&] { return fleet.settled(); }, 60s);
  ASSERT_GE(join_s, 0) << "after joins";

  fleet.world.run_for(5s);
  const auto before = fleet.world.counters();
  fleet.world.run_for(10s);
  const auto idle = fleet.world.counters();
  fleet.of(fleet.processes.back())
      .put_name("model", bytes_of("a value of some forty bytes, as such go."), [](auto) {});
  const double update_s = fleet.seconds_until([&] { return fleet.agree(); }, 30s);
  ASSERT_GE(update_s, 0) << "after an update";
  const auto updated = fleet.world.counters();

  const std::size_t victims = std::max<std::size_t>(1, size / 20);
  for (std::size_t i = 0; i < victims; ++i) fleet.world.crash(fleet.processes[size - 1 - i]);
  const double crash_s = fleet.seconds_until([&] { return fleet.settled(); }, 120s);
  ASSERT_GE(crash_s, 0) << "after crashes";
  for (std::size_t i = 0; i < victims; ++i) fleet.world.restart(fleet.processes[size - 1 - i]);
  const double restart_s = fleet.seconds_until([&] { return fleet.settled(); }, 60s);
  ASSERT_GE(restart_s, 0) << "after restarts";

  const auto per_node = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(size);
  };
  std::printf(
      "%5zu nodes: join %.2f s, update %.2f s, %zu crashes %.2f s, restarts %.2f s; per node: idle "
      "%.2f messages %.0f bytes per s, update %.1f messages %.0f bytes; %.1f links\n",
      size, join_s, update_s, victims, crash_s, restart_s,
      per_node(idle.messages_sent - before.messages_sent) / 10,
      per_node(idle.bytes_sent - before.bytes_sent) / 10,
      per_node(updated.messages_sent - idle.messages_sent),
      per_node(updated.bytes_sent - idle.bytes_sent), 2 * per_node(fleet.world.live_links()));
  EXPECT_LT(per_node(idle.messages_sent - before.messages_sent) / 10, 3);
  EXPECT_LT(per_node(updated.messages_sent - idle.messages_sent), 12);
}

void cut_in_half_and_heal(std::size_t size) {
  SimFleet fleet(size + 1, size);
  ASSERT_GE(fleet.seconds_until([&] { return fleet.settled(); }, 60s), 0);
  const std::vector<ProcessId> half(fleet.processes.begin(),
                                    fleet.processes.begin() + static_cast<long>(size / 2));
  fleet.world.partition(half);
  fleet.world.run_for(20s);
  fleet.of(fleet.processes.front()).put_name("one side", {}, [](auto) {});
  fleet.of(fleet.processes.back()).put_name("other side", {}, [](auto) {});
  fleet.world.run_for(10s);
  EXPECT_FALSE(fleet.agree());
  const auto before = fleet.world.counters();
  fleet.world.heal();
  const double heal_s = fleet.seconds_until([&] { return fleet.settled(); }, 120s);
  ASSERT_GE(heal_s, 0);
  EXPECT_EQ(fleet.of(fleet.processes.back()).names("").size(), 2U);
  const auto after = fleet.world.counters();
  std::printf(
      "%5zu nodes: healed after %.2f s, %.0f messages and %.0f KB per node\n", size, heal_s,
      static_cast<double>(after.messages_sent - before.messages_sent) / static_cast<double>(size),
      static_cast<double>(after.bytes_sent - before.bytes_sent) / static_cast<double>(size) / 1000);
}

TEST(GossipFleet, HalvesOfAHealedPartitionFindEachOther) {
  cut_in_half_and_heal(4);
  cut_in_half_and_heal(100);
}

// Half a minute: nearly all of it goes into a million changed records.
TEST(GossipFleetLong, HalvesOfAHealedPartitionOfAThousandFindEachOther) {
  cut_in_half_and_heal(1000);
}

// A sanitized build runs ten times slower; it sees the same code in smaller fleets.
#ifdef GODWIT_SANITIZED
INSTANTIATE_TEST_SUITE_P(Gossip, FleetOf, testing::Values(4, 100), size_name);
#else
INSTANTIATE_TEST_SUITE_P(Gossip, FleetOf, testing::Values(4, 100, 1000), size_name);
#endif

TEST(GossipFleet, SettlesAfterRandomFaultsWhateverTheSeed) {
  for (const std::uint64_t seed : Seeds(1, kSanitized ? 8 : 30)) {
    SimFleet fleet(
        seed, 12,
        {.reorder_chance = 0.3, .link_break_chance = 0.01, .connect_failure_chance = 0.1});
    {
      fabric::sim::Chaos chaos(fleet.world, fleet.processes);
      fleet.world.run_for(20s);
      for (const ProcessId process : fleet.processes) {
        if (!fleet.world.is_up(process)) continue;
        fleet.of(process).put_name("k" + std::to_string(process.index), {}, [](auto) {});
      }
      fleet.world.run_for(10s);
      chaos.stop();
    }
    EXPECT_GE(fleet.seconds_until([&] { return fleet.settled(); }, 300s), 0);
  }
}

TEST(GossipFleet, TheSameSeedTellsTheSameStory) {
  const auto story = [](std::uint64_t seed) {
    SimFleet fleet(seed, 20, {.link_break_chance = 0.01});
    fleet.world.run_for(20s);
    return fleet.world.trace_hash();
  };
  EXPECT_EQ(story(3), story(3));
  EXPECT_NE(story(3), story(4));
}

TEST(GossipFleet, ALateNodeGetsALargeTableInBoundedMessages) {
  SimFleet fleet(5, 3);
  std::size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    fleet.of(fleet.processes[0])
        .put_name("key" + std::to_string(i), std::vector<std::byte>(200),
                  [&refused](Result<Version> done) { refused += done ? 0U : 1U; });
  }
  EXPECT_EQ(refused, 0U);
  ASSERT_GE(fleet.seconds_until([&] { return fleet.agree(); }, 60s), 0);
  const ProcessId late = fleet.add();
  EXPECT_GE(fleet.seconds_until([&] { return fleet.settled(); }, 60s), 0);
  EXPECT_EQ(fleet.of(late).names("").size(), 2000U);
}

}  // namespace
}  // namespace godwit::fleet
