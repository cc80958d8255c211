#include "ref/channel/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/seeds_for_test.hpp"

namespace godwit::ref {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MeasuredCost, AGuessHoldsUntilTheFirstMeasurement) {
  MeasuredCost cost({100, 1000});
  EXPECT_EQ(cost.count(), 0U);
  EXPECT_DOUBLE_EQ(cost.estimate_us(2'000'000), 2100);
  cost.add(1000, 30);
  EXPECT_EQ(cost.count(), 1U);
  EXPECT_NEAR(cost.estimate_us(1000), 30, 2);
  EXPECT_DOUBLE_EQ(cost.last_us(), 30);
}

TEST(MeasuredCost, ItFollowsWhatIsMeasuredForSmallAndForLarge) {
  MeasuredCost cost({5000, 50'000});
  for (int i = 0; i < 60; ++i) {
    cost.add(1000, 40 + 0.8);
    cost.add(10'000'000, 40 + 8000);
  }
  EXPECT_NEAR(cost.cost().fixed_us, 40, 1);
  EXPECT_NEAR(cost.cost().us_per_mb, 800, 10);
  for (int i = 0; i < 60; ++i) cost.add(10'000'000, 40 + 80'000);  // the network got slow
  EXPECT_NEAR(cost.estimate_us(10'000'000), 80'040, 1000);
}

TEST(MeasuredCost, WhatWasMeasuredLongAgoIsAGuessAgain) {
  using Clock = MeasuredCost::Clock;
  const Clock::time_point begin{};
  MeasuredCost cost({100, 1000});
  for (int i = 0; i < 5; ++i) cost.add(1, 9'000, begin);
  const auto late = begin + MeasuredCost::kGoodFor;
  EXPECT_NEAR(cost.as_of(late).estimate_us(1), 9'000, 10);
  const auto too_late = late + std::chrono::milliseconds(1);
  EXPECT_NEAR(cost.as_of(too_late).estimate_us(1), 100, 1);
  EXPECT_EQ(cost.as_of(too_late).count(), 0);
  cost.add(1, 200, too_late);  // counts alone
  EXPECT_NEAR(cost.as_of(too_late).estimate_us(1), 200, 1);
  EXPECT_EQ(cost.count(), 1);
}

// Otherwise a channel that small ones keep in use would never be tried for large ones again.
TEST(MeasuredCost, SmallOnesDoNotKeepUpWhatWasMeasuredOfLargeOnes) {
  const MeasuredCost::Clock::time_point begin{};
  MeasuredCost cost({100, 1000});
  cost.add(10'000'000, 900'000, begin);
  const auto late = begin + MeasuredCost::kGoodFor + std::chrono::milliseconds(1);
  for (int i = 0; i < 20; ++i) cost.add(1, 40, begin + (late - begin) * i / 20);
  EXPECT_GT(cost.as_of(begin).estimate_us(10'000'000), 800'000);
  EXPECT_NEAR(cost.as_of(late).estimate_us(10'000'000), 10'000, 100);
  EXPECT_NEAR(cost.as_of(late).estimate_us(1), 40, 1);
}

TEST(MeasuredCost, LargeOnesAloneDoNotMakeSmallOnesDearOrFree) {
  MeasuredCost cost({5000, 100});
  for (int i = 0; i < 30; ++i) cost.add(1'000'000, 400);
  EXPECT_LE(cost.cost().fixed_us, 200);
  EXPECT_NEAR(cost.estimate_us(1'000'000), 400, 20);
}

TEST(Glob, StarsAndQuestionMarksStandForCharacters) {
  EXPECT_TRUE(matches("node*", "node12"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(matches("login?", "login3"));
  EXPECT_FALSE(matches("login?", "login"));
  EXPECT_FALSE(matches("node*", "anode"));
  EXPECT_FALSE(matches("a*b", "abc"));
}

TEST(Policy, WhatDoesNotFitSaysWhy) {
  const ChannelPolicy policy{.min_size = 10, .max_size = 20, .hosts = {"gpu*"}, .tags = {"bulk"}};
  const std::vector<std::string> tags{"x", "bulk"};
  EXPECT_THAT(misfit(policy, {.size = 15, .host = "gpu1", .tags = tags}), IsEmpty());
  EXPECT_THAT(misfit(policy, {.size = 9, .host = "gpu1", .tags = tags}), HasSubstr("min_size"));
  EXPECT_THAT(misfit(policy, {.size = 21, .host = "gpu1", .tags = tags}), HasSubstr("max_size"));
  EXPECT_THAT(misfit(policy, {.size = 15, .host = "cpu1", .tags = tags}), HasSubstr("cpu1"));
  EXPECT_THAT(misfit(policy, {.size = 15, .host = "gpu1"}), HasSubstr("tag 'bulk'"));
}

TEST(OrderForPut, PriorityComesFirstThenTheExpectedTime) {
  const ChannelPolicy high{.priority = 5};
  const ChannelPolicy same{};
  const ChannelPolicy low{.priority = -1};
  const std::array candidates{PutCandidate{.policy = nullptr, .expected_us = 10},
                              PutCandidate{&low, 1}, PutCandidate{&same, 5},
                              PutCandidate{&high, 1000}, PutCandidate{&high, 900}};
  EXPECT_THAT(order_for_put(candidates, {}), ElementsAre(4, 3, 2, 0, 1));
}

TEST(OrderForPut, WhatIsNotHealthyIsLeftOutButMemoryNever) {
  const ChannelPolicy high{.priority = 5};
  const std::array candidates{PutCandidate{&high, 1, false},
                              PutCandidate{.policy = nullptr, .expected_us = 1e9}};
  EXPECT_THAT(order_for_put(candidates, {}), ElementsAre(1));
}

// Against the rules, said another way.
TEST(OrderForPut, ItKeepsItsRulesForAnyChannels) {
  for (const std::uint64_t seed : Seeds(1, 200)) {
    std::mt19937_64 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::vector<ChannelPolicy> policies(below(6));
    for (ChannelPolicy& policy : policies) {
      policy.min_size = below(2) == 0 ? 0 : below(100);
      if (below(2) == 0) policy.max_size = below(100);
      if (below(3) == 0) policy.hosts = {"a*"};
      if (below(3) == 0) policy.tags = {"t"};
      policy.priority = static_cast<int>(below(3)) - 1;
    }
    std::vector<PutCandidate> candidates{{.expected_us = static_cast<double>(below(50))}};
    for (const ChannelPolicy& policy : policies) {
      candidates.push_back({&policy, static_cast<double>(below(50)), below(4) != 0});
    }
    const std::vector<std::string> tags(below(2), "t");
    const PutFacts facts{below(100), below(2) == 0 ? "abc" : "xyz", tags};
    const auto order = order_for_put(candidates, facts);
    ASSERT_FALSE(order.empty());
    const auto key = [&](std::size_t i) {
      return std::pair(candidates[i].policy == nullptr ? 0 : -candidates[i].policy->priority,
                       candidates[i].expected_us);
    };
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LE(key(order[i - 1]), key(order[i]));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const PutCandidate& one = candidates[i];
      const ChannelPolicy any;
      const ChannelPolicy& policy = one.policy != nullptr ? *one.policy : any;
      const bool host = policy.hosts.empty() || facts.host.starts_with("a");
      const bool fits = one.healthy && policy.min_size <= facts.size &&
                        facts.size <= policy.max_size && host &&
                        (policy.tags.empty() || !tags.empty());
      EXPECT_EQ(std::count(order.begin(), order.end(), i), fits ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace godwit::ref
