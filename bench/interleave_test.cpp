#include "interleave.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/fail.hpp"

namespace godwit::bench {
namespace {

Sample sample(double p50_us, std::size_t rounds = 10) {
  Sample made;
  made.p50_us = p50_us;
  made.p99_us = 100 - p50_us;
  made.rounds = rounds;
  return made;
}

TEST(MedianOf, TakesEachFigureByItselfAndAddsTheRoundsUp) {
  const Sample samples[] = {sample(3, 1), sample(90, 2), sample(4, 4)};
  const Sample median = median_of(samples);
  EXPECT_DOUBLE_EQ(median.p50_us, 4);
  EXPECT_DOUBLE_EQ(median.p99_us, 96) << "not of the sample whose p50 it is";
  EXPECT_EQ(median.rounds, 7U);
}

TEST(MedianOf, OneOutlierInThreeDoesNotMoveIt) {
  const Sample samples[] = {sample(1), sample(1), sample(1e9)};
  EXPECT_DOUBLE_EQ(median_of(samples).p50_us, 1);
}

TEST(Interleave, TakesTurnsSoThatAllSeeTheSameMachine) {
  std::string turns;
  const Measure contenders[] = {[&]() -> Result<Sample> {
                                  turns += 'a';
                                  return sample(1);
                                },
                                [&]() -> Result<Sample> {
                                  turns += 'b';
                                  return sample(2);
                                }};
  const auto medians = interleave(contenders, {.seconds = 0, .min_rounds = 3, .max_rounds = 25});
  ASSERT_TRUE(medians) << medians.error().message;
  EXPECT_EQ(turns, "ababab") << "no time to spend, so the fewest rounds";
  ASSERT_EQ(medians->size(), 2U);
  EXPECT_DOUBLE_EQ((*medians)[0].p50_us, 1);
  EXPECT_DOUBLE_EQ((*medians)[1].p50_us, 2);
}

TEST(Interleave, EndsAtTheMostRoundsWhateverTimeIsLeft) {
  std::size_t rounds = 0;
  const Measure contenders[] = {[&]() -> Result<Sample> { return sample(double(++rounds)); }};
  const auto medians = interleave(contenders, {.seconds = 3600, .min_rounds = 1, .max_rounds = 5});
  ASSERT_TRUE(medians) << medians.error().message;
  EXPECT_EQ(rounds, 5U);
  EXPECT_DOUBLE_EQ(medians->front().p50_us, 3);
}

TEST(Interleave, TheFirstErrorEndsIt) {
  std::size_t later = 0;
  const Measure contenders[] = {
      []() -> Result<Sample> { return fail(ErrorCode::io, "no such floor"); },
      [&]() -> Result<Sample> {
        ++later;
        return sample(1);
      }};
  const auto medians = interleave(contenders, {});
  ASSERT_FALSE(medians);
  EXPECT_EQ(medians.error().message, "no such floor");
  EXPECT_EQ(later, 0U);
}

}  // namespace
}  // namespace godwit::bench
