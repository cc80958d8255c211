#include "ref/timing.hpp"

#include <gtest/gtest.h>

#include "ref/order.hpp"

namespace godwit::bench {
namespace {

TEST(Timing, GoesOnUntilTheRoundsAreThere) {
  std::uint64_t done = 0;
  const auto sample = time_parts({.time_ns = UINT64_MAX, .rounds = 100},
                                 [&] { return Result<std::uint64_t>(1'000 * ++done); });
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->rounds, 100);
  EXPECT_DOUBLE_EQ(sample->p50_us, 50);
  EXPECT_DOUBLE_EQ(sample->rate_per_s, 100 / 5'050e-6) << "of the parts that were measured";
}

TEST(Timing, MeasuresTheLeastEvenIfThereIsNoTime) {
  const auto sample = time_parts({.time_ns = 0, .rounds = 100, .least = 7},
                                 [] { return Result<std::uint64_t>(1); });
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->rounds, 7);
}

TEST(Timing, AnErrorEndsIt) {
  const auto sample = time_parts(
      {}, [] { return time_of([]() -> Status { return fail(ErrorCode::io, "broken"); }); });
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().message, "broken");
}

TEST(Timing, ASumIsOfAllWords) {
  std::uint64_t words[11];
  for (std::uint64_t i = 0; i < std::size(words); ++i) words[i] = i + 1;
  const auto* bytes = reinterpret_cast<const std::byte*>(words);
  EXPECT_EQ(sum_of(bytes, sizeof words), 66);
  EXPECT_EQ(sum_of(bytes, 8), 1);
  EXPECT_EQ(sum_of(bytes, 0), 0);
}

}  // namespace
}  // namespace godwit::bench
