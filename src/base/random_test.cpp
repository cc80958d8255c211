#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace godwit {
namespace {

TEST(Random, SameSeedGivesTheSameSequence) {
  Random a(42);
  Random b(42);
  Random c(43);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const auto value = a.next();
    EXPECT_EQ(value, b.next());
    differs = differs || value != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, MixMatchesThePublishedSplitMix64Sequence) {
  // The first outputs of SplitMix64 seeded with 0.
  EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15U), 0x6E789E6AA1B965F4U);
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(7);
  std::array<int, 10> hits{};
  for (int i = 0; i < 100'000; ++i) ++hits.at(random.below(hits.size()));
  for (const int count : hits) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, ChanceIsCertainAtTheEnds) {
  Random random(7);
  int heads = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(random.chance(0));
    EXPECT_TRUE(random.chance(1));
    heads += random.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(heads, 2'500, 250);
}

TEST(Random, PickReachesEveryItem) {
  Random random(7);
  std::array<int, 5> items{1, 2, 3, 4, 5};
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.pick(std::span<int>(items)));
  EXPECT_EQ(seen.size(), items.size());
}

}  // namespace
}  // namespace godwit
