#include "fabric/timers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace godwit::fabric {
namespace {

TEST(Timers, RunInOrderOfTimeThenOfAdding) {
  Timers timers;
  std::vector<int> ran;
  for (const auto& [when, name] :
       std::vector<std::pair<int, int>>{{30, 3}, {10, 1}, {20, 2}, {10, 4}})
    (void)timers.add({when}, [&ran, n = name] { ran.push_back(n); });
  EXPECT_EQ(timers.next_due().ns, 10);
  EXPECT_EQ(timers.run_due({25}), 3U);
  EXPECT_EQ(ran, (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(timers.next_due().ns, 30);
}

TEST(Timers, CancelledTimerNeitherRunsNorDelaysSleep) {
  Timers timers;
  int ran = 0;
  const TimerId first = timers.add({10}, [&] { ++ran; });
  (void)timers.add({20}, [&] { ++ran; });
  timers.cancel(first);
  timers.cancel(first);
  timers.cancel({});
  EXPECT_EQ(timers.next_due().ns, 20);
  EXPECT_EQ(timers.run_due({100}), 1U);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(timers.next_due().ns, INT64_MAX);
}

TEST(Timers, OldIdDoesNotCancelTheTimerThatReusedItsSlot) {
  Timers timers;
  int ran = 0;
  const TimerId old = timers.add({1}, [] {});
  timers.run_due({1});
  (void)timers.add({2}, [&] { ++ran; });
  timers.cancel(old);
  timers.run_due({2});
  EXPECT_EQ(ran, 1);
}

TEST(Timers, TaskMayAddTimersAndTheRoundStillEnds) {
  Timers timers;
  int ran = 0;
  (void)timers.add({1}, [&] {
    ++ran;
    (void)timers.add({0}, [&] { ++ran; });
  });
  EXPECT_EQ(timers.run_due({5}), 1U);
  EXPECT_EQ(timers.run_due({5}), 1U);
  EXPECT_EQ(ran, 2);
}

TEST(Timers, CancelledDeadlinesDoNotPileUp) {
  Timers timers;
  std::vector<TimerId> window;
  for (int i = 0; i < 100'000; ++i) {
    window.push_back(timers.add({1'000'000 + i}, [] {}));
    if (window.size() > 8) {
      timers.cancel(window.front());
      window.erase(window.begin());
    }
  }
  EXPECT_EQ(timers.size(), 8U);
  EXPECT_LE(timers.entries(), 200U);
}

}  // namespace
}  // namespace godwit::fabric
