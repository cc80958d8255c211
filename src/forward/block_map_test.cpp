#include "godwit/block_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit {
namespace {

using testing::ElementsAre;

// The load of the busiest rank, in shares of the mean.
double imbalance(const BlockMap& map, const std::vector<std::uint64_t>& loads) {
  std::vector<double> of_rank(static_cast<std::size_t>(map.ranks()));
  for (std::uint32_t block = 0; block < map.blocks(); ++block) {
    for (const Rank rank : map.holders(block)) {
      of_rank[static_cast<std::size_t>(rank)] +=
          static_cast<double>(loads[block]) / static_cast<double>(map.holders(block).size());
    }
  }
  const double mean =
      std::accumulate(of_rank.begin(), of_rank.end(), 0.0) / static_cast<double>(of_rank.size());
  return *std::max_element(of_rank.begin(), of_rank.end()) / mean;
}

TEST(BlockMap, GivesNeighboursToOneRank) {
  const auto map = BlockMap::shares(10, 4);
  ASSERT_TRUE(map);
  std::vector<Rank> owners;
  for (std::uint32_t block = 0; block < 10; ++block) owners.push_back(map->route(block, -1));
  EXPECT_THAT(owners, ElementsAre(0, 0, 0, 1, 1, 2, 2, 2, 3, 3));
}

TEST(BlockMap, RefusesWhatIsNoMap) {
  EXPECT_EQ(BlockMap::shares(0, 4).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(BlockMap::shares(4, 0).error().code, ErrorCode::invalid_argument);
  const Rank owners[] = {0, 1, 2};
  EXPECT_EQ(BlockMap::of(owners, 2).error().code, ErrorCode::invalid_argument);
  auto map = BlockMap::of(owners, 3);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->plan(std::vector<std::uint64_t>(2)).error().code, ErrorCode::invalid_argument);
  const BlockMap before = *map;
  const BlockMove bad[] = {{.block = 0, .from = 0, .to = 1}, {.block = 1, .from = 0, .to = 2}};
  EXPECT_EQ(map->apply(bad).error().code, ErrorCode::invalid_argument);
  const BlockMove held[] = {{.block = 1, .from = 1, .to = 1}};
  EXPECT_EQ(map->apply(held).error().code, ErrorCode::invalid_argument);
  const BlockMove nowhere[] = {{.block = 9, .from = 1, .to = 1}};
  EXPECT_EQ(map->apply(nowhere).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(*map, before);
}

TEST(BlockMap, KeepsItemsWhereTheirBlockIsHeld) {
  auto map = BlockMap::shares(4, 4);
  ASSERT_TRUE(map);
  const BlockMove copies[] = {{.block = 1, .from = 1, .to = 3, .keeps = true},
                              {.block = 2, .from = 2, .to = 0}};
  ASSERT_TRUE(map->apply(copies));
  EXPECT_THAT(map->holders(1), ElementsAre(1, 3));
  EXPECT_EQ(map->route(1, 3), 3);
  EXPECT_EQ(map->route(1, 1), 1);
  EXPECT_TRUE(map->holds(map->route(1, 0), 1));
  // Those from elsewhere are spread over the copies.
  EXPECT_NE(map->route(1, 0, 0), map->route(1, 0, 1));
  EXPECT_THAT(map->holders(2), ElementsAre(0));
}

TEST(BlockMap, PlansToEqualLoads) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto ranks = static_cast<Rank>(2 + random.next() % 7);
    auto map = BlockMap::shares(static_cast<std::uint32_t>(ranks) * 12, ranks);
    ASSERT_TRUE(map);
    std::vector<std::uint64_t> loads(map->blocks());
    for (std::uint64_t& load : loads) load = random.next() % 100;
    const double before = imbalance(*map, loads);
    const auto moves = map->plan(loads);
    ASSERT_TRUE(moves);
    EXPECT_EQ(*moves, *map->plan(loads));  // the same, always
    ASSERT_TRUE(map->apply(*moves));
    EXPECT_LE(imbalance(*map, loads), std::max(1.1, std::min(before, 1.25))) << seed;
  }
}

TEST(BlockMap, CopiesABlockThatIsTooMuchForOne) {
  auto map = BlockMap::shares(8, 4);
  ASSERT_TRUE(map);
  const std::vector<std::uint64_t> loads{1000, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_GT(imbalance(*map, loads), 3.7);
  const auto moves = map->plan(loads);
  ASSERT_TRUE(moves);
  ASSERT_TRUE(map->apply(*moves));
  EXPECT_LT(imbalance(*map, loads), 1.2);
  EXPECT_GE(map->holders(0).size(), 3U);
  const auto without = BlockMap::shares(8, 4)->plan(loads, {.replicates = false});
  ASSERT_TRUE(without);
  for (const BlockMove& move : *without) EXPECT_FALSE(move.keeps);
}

TEST(BlockMap, LeavesEqualLoadsAlone) {
  const auto map = BlockMap::shares(64, 4);
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->plan(std::vector<std::uint64_t>(64, 5))->empty());
  EXPECT_TRUE(map->plan(std::vector<std::uint64_t>(64, 0))->empty());
}

// How many items are not where their block is.
std::uint64_t travelling(const BlockMap& map, const std::vector<std::uint64_t>& wanted) {
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < map.ranks(); ++rank) {
    for (std::uint32_t block = 0; block < map.blocks(); ++block) {
      if (map.holds(rank, block)) continue;
      count += wanted[static_cast<std::size_t>(rank) * map.blocks() + block];
    }
  }
  return count;
}

TEST(BlockMap, GivesABlockToTheRankThatHasMostOfItsItems) {
  auto map = BlockMap::shares(4, 2);  // 0, 0, 1, 1
  ASSERT_TRUE(map);
  const std::vector<std::uint64_t> wanted{5,  10, 90, 10,  // on rank 0
                                          95, 10, 0,  10};
  const auto moves = map->plan_towards(wanted);
  ASSERT_TRUE(moves);
  EXPECT_THAT(*moves, ElementsAre(BlockMove{.block = 0, .from = 0, .to = 1},
                                  BlockMove{.block = 2, .from = 1, .to = 0}))
      << "each to where most is saved, the best first; what is wanted alike stays";
  EXPECT_EQ(travelling(*map, wanted), 205U);
  ASSERT_TRUE(map->apply(*moves));
  EXPECT_EQ(travelling(*map, wanted), 25U);
  EXPECT_TRUE(map->plan_towards(wanted)->empty());
}

TEST(BlockMap, GivesNoRankMoreThanItCanBearForTheSakeOfItems) {
  const auto map = BlockMap::shares(4, 2);
  ASSERT_TRUE(map);
  const std::vector<std::uint64_t> all_on_one{100, 100, 100, 100, 0, 0, 0, 0};
  EXPECT_TRUE(map->plan_towards(all_on_one)->empty()) << "rank 0 has its share";
  EXPECT_EQ(map->plan_towards(all_on_one, {.tolerance = 2.0})->size(), 2U);
  EXPECT_EQ(map->plan_towards(all_on_one, {.tolerance = 2.0, .max_moves = 1})->size(), 1U);
  EXPECT_EQ(map->plan_towards(std::vector<std::uint64_t>(4)).error().code,
            ErrorCode::invalid_argument);
}

TEST(BlockMap, PlansThatFollowItemsNeitherTravelMoreNorPileUp) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto ranks = static_cast<Rank>(2 + random.next() % 7);
    auto map = BlockMap::shares(static_cast<std::uint32_t>(ranks) * 12, ranks);
    ASSERT_TRUE(map);
    const BlockMove copy[] = {{.block = 0, .from = 0, .to = 1, .keeps = true}};
    ASSERT_TRUE(map->apply(copy));
    std::vector<std::uint64_t> wanted(map->blocks() * static_cast<std::size_t>(ranks));
    std::vector<std::uint64_t> loads(map->blocks());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = random.next() % 100;
      loads[i % loads.size()] += wanted[i];
    }
    const double busiest = imbalance(*map, loads);
    const std::uint64_t before = travelling(*map, wanted);
    const auto moves = map->plan_towards(wanted);
    ASSERT_TRUE(moves);
    EXPECT_EQ(*moves, *map->plan_towards(wanted));
    ASSERT_TRUE(map->apply(*moves));
    EXPECT_LT(travelling(*map, wanted), before) << seed;
    EXPECT_LE(imbalance(*map, loads), std::max(1.1, busiest) + 1e-9) << seed;
    EXPECT_THAT(map->holders(0), ElementsAre(0, 1)) << "what several hold stays";
  }
}

// What a program does between two runs: it counts, plans, and the data follows.
TEST(MoveBlocks, BringsABlockToItsItems) {
  const Status done = run_ranks(3, [](Group& group) -> Status {
    GODWIT_TRY(BlockMap map, BlockMap::shares(3, 3));
    const auto me = static_cast<std::uint32_t>(group.rank());
    // The items of each rank need the next one's block.
    std::vector<std::uint64_t> wanted(9);
    wanted[me * 3 + (me + 1) % 3] = 1'000;
    GODWIT_TRY(const auto all, sum_over_ranks(group, wanted));
    EXPECT_EQ(travelling(map, all), 3'000U);
    GODWIT_TRY(const auto moves, map.plan_towards(all, {.tolerance = 2.0}));
    std::string mine(10, static_cast<char>('0' + me));
    std::string got;
    GODWIT_CHECK(move_blocks(
        group, map, moves, [&](std::uint32_t) { return std::as_bytes(std::span(mine)); },
        [&](std::uint32_t, std::span<const std::byte> bytes) {
          got.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        }));
    EXPECT_EQ(travelling(map, all), 0U);
    EXPECT_EQ(got, std::string(10, static_cast<char>('0' + (me + 1) % 3)));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

TEST(SumOverRanks, AddsUpAtEveryPlace) {
  const Status done = run_ranks(3, [](Group& group) -> Status {
    for (const std::size_t count : {0UL, 1UL, 20'000UL}) {
      std::vector<std::uint64_t> values(count);
      std::iota(values.begin(), values.end(), static_cast<std::uint64_t>(group.rank()));
      GODWIT_TRY(const auto sums, sum_over_ranks(group, values));
      EXPECT_EQ(sums.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(sums[i], 3 * i + 3);
    }
    std::vector<std::uint64_t> different(static_cast<std::size_t>(group.rank()) + 1);
    EXPECT_EQ(sum_over_ranks(group, different).error().code, ErrorCode::type_mismatch);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

TEST(MoveBlocks, BringsTheDataWithTheMap) {
  const Status done = run_ranks(3, [](Group& group) -> Status {
    GODWIT_TRY(BlockMap map, BlockMap::shares(6, 3));
    // Rank r holds blocks 2r and 2r + 1; their sizes differ, and one has no bytes at all.
    std::map<std::uint32_t, std::string> held;
    for (std::uint32_t block = 0; block < 6; ++block) {
      if (map.holds(group.rank(), block)) {
        held[block] =
            std::string(block == 3 ? 0 : 3'000'000 * block + 10, static_cast<char>(block));
      }
    }
    const BlockMove moves[] = {{.block = 0, .from = 0, .to = 1},
                               {.block = 0, .from = 1, .to = 2},  // and on
                               {.block = 3, .from = 1, .to = 0},
                               {.block = 5, .from = 2, .to = 0, .keeps = true},
                               {.block = 5, .from = 2, .to = 1, .keeps = true}};
    GODWIT_CHECK(move_blocks(
        group, map, moves,
        [&](std::uint32_t block) { return std::as_bytes(std::span(held.at(block))); },
        [&](std::uint32_t block, std::span<const std::byte> bytes) {
          EXPECT_EQ(held.count(block), 0U);
          held[block] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        }));
    EXPECT_THAT(map.holders(0), ElementsAre(2));
    EXPECT_THAT(map.holders(3), ElementsAre(0));
    EXPECT_THAT(map.holders(5), ElementsAre(0, 1, 2));
    for (std::uint32_t block = 0; block < 6; ++block) {
      if (!map.holds(group.rank(), block)) continue;
      EXPECT_EQ(held[block],
                std::string(block == 3 ? 0 : 3'000'000 * block + 10, static_cast<char>(block)))
          << "block " << block;
    }
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

}  // namespace
}  // namespace godwit
