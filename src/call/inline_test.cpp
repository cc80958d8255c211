// Inline functions that take long are noticed, whether or not their code was here.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/cycles.hpp"
#include "call/sim_fleet.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

// The engine takes simulated time for what the counter of cycles did meanwhile. So a function that
// runs for as many cycles as there were before it takes half of the simulated time so far.
TEST(InlineFunctions, AnOverrunIsNotedForTheCallThatWaitedForItsCodeToo) {
  const std::uint64_t origin = cycles();
  SimFleet fleet(13, {}, {});
  fleet.world().run_for(seconds(1));
  const auto overruns = [&] { return fleet.at(fleet.node_process(0))->engine->stats().overruns; };
  const auto run_long = [&] {
    fleet.while_running = [&] {
      const std::uint64_t began = cycles();
      const std::uint64_t least = std::max<std::uint64_t>(began - origin, 1'000'000);
      while (cycles() - began < least) {
      }
    };
    Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, echo, 0, seconds(30));
    EXPECT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(30)));
    EXPECT_EQ(record.outcome.ending, Ending::ok) << record.text;
  };
  run_long();
  EXPECT_EQ(fleet.at(fleet.client_process(0))->engine->stats().code_sent, 1U) << "it was parked";
  EXPECT_EQ(overruns(), 1U);
  run_long();
  EXPECT_EQ(fleet.at(fleet.client_process(0))->engine->stats().code_sent, 1U);
  EXPECT_EQ(overruns(), 2U);
}

}  // namespace
}  // namespace godwit::call::sim
