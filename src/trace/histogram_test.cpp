#include "trace/histogram.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace godwit::trace {
namespace {

TEST(Histogram, PutsEveryValueIntoTheBucketThatHoldsIt) {
  std::vector<std::uint64_t> values{0, 1, 2, 3, std::numeric_limits<std::uint64_t>::max()};
  for (unsigned shift = 2; shift < 64; ++shift) {
    const std::uint64_t power = std::uint64_t{1} << shift;
    values.insert(values.end(), {power - 1, power, power + 1, power + power / 2});
  }
  for (const std::uint64_t value : values) {
    const std::size_t index = HistogramBuckets::index_of(value);
    ASSERT_LT(index, HistogramBuckets::kCount) << value;
    EXPECT_LE(HistogramBuckets::lower_bound(index), value);
    if (index + 1 < HistogramBuckets::kCount) {
      EXPECT_GT(HistogramBuckets::lower_bound(index + 1), value);
    }
  }
}

TEST(Histogram, QuantilesAreWithinAnEighth) {
  auto histogram = std::make_unique<Histogram>();
  for (std::uint64_t value = 1; value <= 100'000; ++value) histogram->record(value);
  const HistogramSnapshot snapshot = histogram->snapshot();
  EXPECT_EQ(snapshot.count, 100'000U);
  EXPECT_EQ(snapshot.sum, 5'000'050'000U);
  EXPECT_EQ(snapshot.max, 100'000U);
  EXPECT_NEAR(snapshot.quantile(0.5), 50'000, 50'000 / 8.0);
  EXPECT_NEAR(snapshot.quantile(0.99), 99'000, 99'000 / 8.0);
  EXPECT_EQ(snapshot.quantile(1.0), 100'000);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (int i = 0; i < 9; ++i) histogram.record(2);
  histogram.record(3);
  EXPECT_EQ(histogram.snapshot().quantile(0.5), 2);
  EXPECT_EQ(histogram.snapshot().quantile(0.95), 3);
}

TEST(Histogram, IsZeroWithoutSamples) {
  const HistogramSnapshot snapshot = Histogram().snapshot();
  EXPECT_EQ(snapshot.quantile(0.5), 0);
  EXPECT_EQ(snapshot.count_below_power(64), 0U);
}

TEST(Histogram, CountsBelowAPowerOfTwo) {
  Histogram histogram;
  for (const std::uint64_t value : {0U, 1U, 2U, 3U, 4U, 7U, 8U}) histogram.record(value);
  const HistogramSnapshot snapshot = histogram.snapshot();
  EXPECT_EQ(snapshot.count_below_power(0), 1U);
  EXPECT_EQ(snapshot.count_below_power(1), 2U);
  EXPECT_EQ(snapshot.count_below_power(2), 4U);
  EXPECT_EQ(snapshot.count_below_power(3), 6U);
  EXPECT_EQ(snapshot.count_below_power(64), 7U);
}

TEST(Histogram, LosesNothingUnderConcurrentRecords) {
  Histogram histogram;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&histogram, t] {
      for (std::uint64_t i = 0; i < 20'000; ++i) histogram.record(t * 20'000 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.snapshot().count, 80'000U);
  EXPECT_EQ(histogram.snapshot().max, 79'999U);
}

}  // namespace
}  // namespace godwit::trace
