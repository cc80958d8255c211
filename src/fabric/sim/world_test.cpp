#include "fabric/sim/world.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace godwit::fabric::sim {
namespace {

using namespace std::chrono_literals;

TEST(World, PostedTasksRunInOrderWithoutTimePassing) {
  World world(1);
  const ProcessId p = world.add_process();
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) world.scheduler(p).post([&order, i] { order.push_back(i); });
  while (world.step()) {
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(world.now().ns, 0);
}

TEST(World, TimersFireAtTheirTimeAndCancelledOnesNever) {
  World world(1);
  Scheduler& scheduler = world.scheduler(world.add_process());
  std::vector<std::int64_t> fired;
  scheduler.post_at(Time{300}, [&] { fired.push_back(scheduler.now().ns); });
  scheduler.post_at(Time{100}, [&] { fired.push_back(scheduler.now().ns); });
  const TimerId cancelled = scheduler.post_at(Time{200}, [&] { fired.push_back(-1); });
  scheduler.cancel(cancelled);
  scheduler.cancel(cancelled);
  world.run_for(1us);
  scheduler.post_at(Time{1}, [&] { fired.push_back(scheduler.now().ns); });  // in the past: soon
  world.run_for(1us);
  EXPECT_EQ(fired, (std::vector<std::int64_t>{100, 300, 1000}));
  EXPECT_EQ(world.now().ns, 2000);
}

TEST(World, OffloadedWorkIsDoneAfterTheLoadDelay) {
  World world(1, {.load_delay = {2ms, 3ms}});
  Scheduler& scheduler = world.scheduler(world.add_process());
  bool worked = false;
  std::int64_t done_at = -1;
  scheduler.offload([&] { worked = true; }, [&] { done_at = scheduler.now().ns; });
  EXPECT_TRUE(world.run_until([&] { return done_at >= 0; }, 1s));
  EXPECT_TRUE(worked);
  EXPECT_GE(done_at, 2'000'000);
  EXPECT_LE(done_at, 3'000'000);
}

TEST(World, ACrashedProcessNeverRunsAgain) {
  World world(1);
  const ProcessId p = world.add_process();
  Scheduler& scheduler = world.scheduler(p);
  int ran = 0;
  scheduler.post([&] { ++ran; });
  const TimerId timer = scheduler.post_at(Time{100}, [&] { ++ran; });
  scheduler.offload([] {}, [&] { ++ran; });
  world.crash(p);
  EXPECT_FALSE(world.is_up(p));
  scheduler.post([&] { ++ran; });
  scheduler.post_at(Time{5}, [&] { ++ran; });
  scheduler.cancel(timer);
  world.run_for(1s);
  EXPECT_EQ(ran, 0);
}

TEST(World, ARestartBuildsAnewWithAGreaterEpochAndTheSameIdentity) {
  struct Node {
    explicit Node(int& living_count) : living(living_count) { ++living; }
    ~Node() { --living; }
    int& living;
  };
  int living = 0;  // outlives the world, and with it the last node
  World world(1);
  std::vector<std::uint64_t> epochs;
  const ProcessId p = world.add_process([&](World& w, ProcessId self) {
    epochs.push_back(w.epoch(self).value);
    return std::make_shared<Node>(living);
  });
  const NodeId id = world.node_id(p);
  EXPECT_EQ(living, 1);
  world.crash(p);
  EXPECT_EQ(living, 0);
  world.restart(p);
  world.restart(p);
  EXPECT_EQ(living, 1);
  EXPECT_EQ(epochs, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(world.node_id(p), id);
}

TEST(World, AProcessMayCrashAndRestartItselfFromItsOwnTask) {
  struct Node {
    explicit Node(int& living_count) : living(living_count) { ++living; }
    ~Node() { --living; }
    int& living;
  };
  int living = 0;  // outlives the world, and with it the last node
  World world(1);
  int starts = 0;
  const ProcessId p = world.add_process([&](World& w, ProcessId self) {
    auto node = std::make_shared<Node>(living);
    ++starts;
    if (starts < 3) {
      w.scheduler(self).post([&w, self, raw = node.get()] {
        w.restart(self);
        EXPECT_GE(raw->living, 1) << "destroyed while its own task runs";
      });
    }
    return node;
  });
  world.run_for(1ms);
  EXPECT_EQ(starts, 3);
  EXPECT_EQ(living, 1);
  EXPECT_EQ(world.epoch(p).value, 3U);
}

TEST(World, ASlowProcessRunsItsEventsOneAfterAnotherAndOthersAreNotHeldUp) {
  World world(1);
  const ProcessId slow = world.add_process();
  const ProcessId quick = world.add_process();
  world.set_slow(slow, 1ms);
  std::vector<std::int64_t> at_ms;
  std::int64_t quick_at = -1;
  TimerId cancelled{};
  for (int i = 0; i < 4; ++i) {
    world.scheduler(slow).post([&] { at_ms.push_back(world.now().ns / 1'000'000); });
  }
  cancelled = world.scheduler(slow).post_at(Time{10}, [&] { at_ms.push_back(-1); });
  world.scheduler(quick).post_at(Time{500}, [&] { quick_at = world.now().ns; });
  world.after(2ms, [&] { world.scheduler(slow).cancel(cancelled); });  // while it is held back
  world.run_for(1s);
  EXPECT_EQ(at_ms, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(quick_at, 500);
}

TEST(World, APausedProcessGoesOnLaterWithEverythingInOrder) {
  World world(1);
  const ProcessId paused = world.add_process();
  const ProcessId other = world.add_process();
  std::vector<std::int64_t> at_ms;
  std::int64_t other_at_ms = -1;
  const auto note = [&] { at_ms.push_back(world.now().ns / 1'000'000); };
  for (const int ms : {1, 3, 4, 20}) world.scheduler(paused).post_at(Time{ms * 1'000'000}, note);
  world.scheduler(other).post_at(Time{3'000'000},
                                 [&] { other_at_ms = world.now().ns / 1'000'000; });
  world.after(2ms, [&] { world.pause(paused, 5ms); });
  world.after(5ms, [&] { world.pause(paused, 7ms); });  // while events wait for the first to end
  world.after(6ms, [&] { world.pause(paused, 1ms); });  // over before the other
  world.run_for(10ms);
  EXPECT_TRUE(world.is_paused(paused));
  EXPECT_FALSE(world.is_paused(other));
  world.run_for(90ms);
  EXPECT_FALSE(world.is_paused(paused));
  EXPECT_EQ(at_ms, (std::vector<std::int64_t>{1, 12, 12, 20}));
  EXPECT_EQ(other_at_ms, 3);
}

TEST(World, ARestartEndsAPause) {
  World world(1);
  const ProcessId p = world.add_process();
  world.pause(p, 1s);
  world.restart(p);
  bool ran = false;
  world.scheduler(p).post([&] { ran = true; });
  world.run_for(1ms);
  EXPECT_TRUE(ran);
}

TEST(World, EveryEventIsToldToTheObserverOfTheTrace) {
  std::string story;
  World world(1, {.on_event = [&story](const TraceEvent& event) {
                story += std::string(to_string(event.what)) + " ";
              }});
  const ProcessId p = world.add_process();
  world.scheduler(p).post([] {});
  world.scheduler(p).post_at(Time{1}, [] {});
  world.after(2ns, [] {});
  world.run_for(1us);
  EXPECT_EQ(story, "task timer driver ");
}

TEST(World, TooManyWaitingEventsIsAViolation) {
  int violations = 0;
  World world(1,
              {.max_waiting_events = 10, .on_violation = [&violations](std::string_view message) {
                 ++violations;
                 EXPECT_NE(message.find("seed 1"), std::string_view::npos);
               }});
  const ProcessId p = world.add_process();
  for (int i = 0; i < 11; ++i) world.scheduler(p).post([] {});
  EXPECT_EQ(violations, 1);
}

}  // namespace
}  // namespace godwit::fabric::sim
