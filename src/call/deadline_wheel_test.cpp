#include "call/deadline_wheel.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"

namespace godwit::call {
namespace {

using std::chrono::milliseconds;

struct Hook : DeadlineHook {
  int number = 0;
};

TEST(DeadlineWheel, HandsOutWhatIsDueAndNothingElse) {
  DeadlineWheel wheel(Time{0});
  std::vector<Hook> hooks(3);
  for (int i = 0; i < 3; ++i) {
    hooks[static_cast<std::size_t>(i)].deadline = Time{0} + milliseconds(100 * (i + 1));
    wheel.add(hooks[static_cast<std::size_t>(i)]);
  }
  std::size_t due = 0;
  const auto count = [&](DeadlineHook&) { ++due; };
  wheel.expire(Time{0} + milliseconds(99), count);
  EXPECT_EQ(due, 0U);
  wheel.expire(Time{0} + milliseconds(200), count);
  EXPECT_EQ(due, 2U);
  EXPECT_EQ(wheel.size(), 1U);
  wheel.remove(hooks[2]);
  EXPECT_FALSE(wheel.next());
}

TEST(DeadlineWheel, AHandlerMayRemoveOthersThatAreDueToo) {
  DeadlineWheel wheel(Time{0});
  Hook a;
  Hook b;
  a.deadline = b.deadline = Time{0} + milliseconds(10);
  wheel.add(a);
  wheel.add(b);
  std::size_t due = 0;
  wheel.expire(Time{0} + milliseconds(50), [&](DeadlineHook& hook) {
    ++due;
    wheel.remove(&hook == &a ? b : a);
  });
  EXPECT_EQ(due, 1U);
  EXPECT_EQ(wheel.size(), 0U);
}

// Driven only by next(), as the engine drives it, nothing is ever late by more than a tick or two.
TEST(DeadlineWheel, NextNeverSleepsThroughADeadline) {
  const Seed seed(3);
  Random random(seed.value());
  Time now{12'345'678};
  DeadlineWheel wheel(now);
  std::vector<Hook> hooks(500);
  for (Hook& hook : hooks) {
    hook.deadline = now + Duration(random.below(20'000'000'000));
    wheel.add(hook);
  }
  std::set<DeadlineHook*> seen;
  while (const auto next = wheel.next()) {
    ASSERT_GT(next->ns, now.ns);
    now = *next;
    wheel.expire(now, [&](DeadlineHook& hook) {
      EXPECT_LE(hook.deadline.ns, now.ns);
      EXPECT_LE(now.ns - hook.deadline.ns, 2 * DeadlineWheel::kTickNs);
      seen.insert(&hook);
    });
  }
  EXPECT_EQ(seen.size(), hooks.size());
}

}  // namespace
}  // namespace godwit::call
