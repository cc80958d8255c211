// Regions as a program uses them, on real fleets over both transports.
#include <numeric>
#include <thread>

#include "node/region_for_test.hpp"

namespace godwit::node {
namespace {

using Words = Region<std::uint64_t>;

struct RGB {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  friend bool operator==(const RGB&, const RGB&) = default;
};
GODWIT_STRUCT(RGB, r, g, b);

class RegionClient : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam(), .node_arguments = {"--region-budget-mb=64"}});
};

TEST_P(RegionClient, WhatIsPutIsFoundUnderEveryMap) {
  int number = 0;
  for (const Sharding sharding :
       {Sharding::blocks(), Sharding::cyclic(), Sharding::cyclic(7), Sharding::hashed()}) {
    auto region = make_region<std::uint64_t>(fleet_, "map" + std::to_string(number++),
                                             {.elements = 100, .sharding = sharding});
    EXPECT_EQ(value_of(region.load(99)), 0U) << "memory is zeroed";
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(region.store(i, i * i));
    for (std::uint64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(value_of(region.load(i)), i * i);
      EXPECT_EQ(value_of(region.get(i).get()), i * i);
      EXPECT_EQ(value_of(region.through(Reach::message).load(i)), i * i);
    }
    const auto all = value_of(region.load(0, 100));
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(all.at(i), i * i);
  }
}

TEST_P(RegionClient, AShardOfThisHostIsMappedAndOthersAreNot) {
  auto region = make_region<std::uint64_t>(fleet_, "mapped", {.elements = 30});
  const RegionDescription description = region.describe();
  ASSERT_EQ(description.shards.size(), 3U);
  EXPECT_EQ(description.type, "u64");
  for (const ShardDescription& shard : description.shards) {
    EXPECT_EQ(shard.elements, 10U);
    EXPECT_FALSE(shard.lost);
    EXPECT_EQ(shard.mapped, GetParam() == LocalTransport::shm);
  }
}

TEST_P(RegionClient, ElementsOfOddSizesTravelToo) {
  auto region =
      make_region<RGB>(fleet_, "colours", {.elements = 50, .sharding = Sharding::cyclic(4)});
  ASSERT_TRUE(region.store(17, RGB{1, 2, 3}));
  EXPECT_EQ(value_of(region.load(17)), (RGB{1, 2, 3}));
  EXPECT_EQ(value_of(region.through(Reach::message).get(17).get()), (RGB{1, 2, 3}));
  std::vector<RGB> row(20, RGB{9, 8, 7});
  ASSERT_TRUE(region.put(10, row).get());
  EXPECT_EQ(value_of(region.get(10, 20).get()), row);
  EXPECT_EQ(value_of(region.through(Reach::message).load(10, 20)), row);
}

TEST_P(RegionClient, RangesListsAndStridesArriveInOrder) {
  for (const Sharding sharding : {Sharding::blocks(), Sharding::cyclic(5), Sharding::hashed()}) {
    auto region =
        make_region<std::uint32_t>(fleet_, "bulk", {.elements = 60'000, .sharding = sharding});
    std::vector<std::uint32_t> values(60'000);
    std::iota(values.begin(), values.end(), 1U);
    ASSERT_TRUE(region.put(0, values).get());
    for (const Reach reach : {Reach::automatic, Reach::message}) {
      const auto there = region.through(reach);
      EXPECT_EQ(value_of(there.load(0, 60'000)), values);
      EXPECT_EQ(value_of(there.get(19'990, 50).get()),
                std::vector<std::uint32_t>(values.begin() + 19'990, values.begin() + 20'040));
      const std::vector<std::uint64_t> indices{59'999, 0, 20'000, 0, 40'001};
      EXPECT_EQ(value_of(there.gather(indices).get()),
                (std::vector<std::uint32_t>{60'000, 1, 20'001, 1, 40'002}));
      EXPECT_EQ(value_of(there.get_strided(5, 4, 10'000).get()),
                (std::vector<std::uint32_t>{6, 10'006, 20'006, 30'006}));
    }
    const std::vector<std::uint64_t> places{3, 59'000};
    ASSERT_TRUE(region.scatter(places, std::vector<std::uint32_t>{7, 8}).get());
    EXPECT_EQ(value_of(region.load(3)), 7U);
    EXPECT_EQ(value_of(region.load(59'000)), 8U);
    ASSERT_TRUE(region.put_strided(1, 30'000, std::vector<std::uint32_t>{70, 80}).get());
    EXPECT_EQ(value_of(region.load(30'001)), 80U);
    ASSERT_TRUE(region.drop());
  }
}

TEST_P(RegionClient, AtomicsOfManyThreadsLoseNothing) {
  auto region = make_region<std::uint32_t>(fleet_, "counts", {.elements = 12});
  constexpr std::uint32_t kEach = 300;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < kEach; ++i) {
          ASSERT_TRUE(region.fetch_add(i % 12, 2).get());
          for (auto seen = region.load(5);;) {
            ASSERT_TRUE(seen);
            const auto before = region.compare_swap(5, *seen, *seen + 2).get();
            ASSERT_TRUE(before);
            if (*before == *seen) break;
            seen = before;
          }
        }
      });
    }
  }
  for (std::uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(value_of(region.load(i)), 4 * kEach / 12 * 2 + (i == 5 ? 4 * kEach * 2 : 0));
  }
}

TEST_P(RegionClient, AFenceWaitsForWhatWasBegun) {
  auto region = make_region<std::uint64_t>(fleet_, "fenced", {.elements = 3000});
  std::vector<Future<void>> puts;
  for (std::uint64_t i = 0; i < 3000; ++i) puts.push_back(region.put(i, i + 1));
  region.fence();
  const auto there = value_of(region.load(0, 3000));
  for (std::uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(there.at(i), i + 1);
  for (auto& put : puts) EXPECT_TRUE(put.get());
}

TEST_P(RegionClient, FailuresNameTheRegionAndTheElements) {
  auto region = make_region<std::uint64_t>(fleet_, "small", {.elements = 10, .capacity = 20});
  for (const Failure& failure :
       {failure_of(region.load(10)), failure_of(region.put(10, 1).get()),
        failure_of(region.fetch_add(10, 1).get()), failure_of(region.get(10).get())}) {
    EXPECT_EQ(failure.ending, Ending::rejected);
    EXPECT_EQ(failure.reason, ErrorCode::invalid_argument);
    EXPECT_FALSE(failure.may_have_started);
    EXPECT_NE(failure.message.find("element 10 of region 'small'"), std::string::npos)
        << failure.message;
  }
  EXPECT_NE(failure_of(region.load(5, 6)).message.find("elements 5 to 10 of region 'small'"),
            std::string::npos);
  EXPECT_EQ(failure_of(region.load(UINT64_MAX, 2)).reason, ErrorCode::invalid_argument);
  EXPECT_EQ(failure_of(region.get_strided(0, 3, UINT64_MAX / 2).get()).reason,
            ErrorCode::invalid_argument);
  const std::vector<std::uint64_t> two{1, 2};
  EXPECT_EQ(failure_of(region.scatter(two, std::vector<std::uint64_t>{1}).get()).reason,
            ErrorCode::invalid_argument);

  EXPECT_EQ(Words::create(fleet_, "small", {.elements = 1}).error().code,
            ErrorCode::already_exists);
  EXPECT_EQ(Words::create(fleet_, "../up", {.elements = 1}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(Words::create(fleet_, "none", {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Words::attach(fleet_, "missing").error().code, ErrorCode::not_found);
  const auto wrong = Region<double>::attach(fleet_, "small");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::type_mismatch);
  EXPECT_NE(wrong.error().message.find("u64"), std::string::npos) << wrong.error().message;
}

TEST_P(RegionClient, ARegionGrowsUpToItsCapacity) {
  auto region = make_region<std::uint64_t>(
      fleet_, "growing", {.elements = 10, .capacity = 1000, .sharding = Sharding::cyclic()});
  ASSERT_TRUE(region.store(9, 99));
  ASSERT_TRUE(region.grow(500));
  EXPECT_EQ(region.size(), 500U);
  EXPECT_EQ(value_of(region.load(9)), 99U);
  EXPECT_EQ(value_of(region.load(499)), 0U);
  ASSERT_TRUE(region.store(499, 5));
  EXPECT_EQ(value_of(region.load(499)), 5U);
  const Status beyond = region.grow(1001);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::invalid_argument);
}

TEST_P(RegionClient, ARegionBeyondANodesBudgetIsNotMadeAtAll) {
  const auto region = Words::create(fleet_, "huge", {.elements = std::uint64_t{100} << 20});
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::resource_exhausted) << region.error().message;
  EXPECT_NE(region.error().message.find("huge"), std::string::npos) << region.error().message;
  auto smaller = make_region<std::uint64_t>(fleet_, "huge", {.elements = 100});
  EXPECT_TRUE(smaller.store(1, 1));
}

TEST_P(RegionClient, ASealedRegionIsReadOnly) {
  auto region = make_region<std::uint64_t>(fleet_, "sealed", {.elements = 10});
  ASSERT_TRUE(region.store(3, 4));
  ASSERT_TRUE(region.seal());
  EXPECT_TRUE(region.describe().sealed);
  EXPECT_EQ(value_of(region.load(3)), 4U);
  EXPECT_EQ(value_of(region.through(Reach::message).load(3)), 4U);
  const Failure failure = failure_of(region.store(3, 5));
  EXPECT_EQ(failure.ending, Ending::rejected);
  EXPECT_EQ(failure.reason, ErrorCode::permission) << failure.message;
  EXPECT_EQ(value_of(region.load(3)), 4U);
}

TEST_P(RegionClient, ADroppedRegionIsGoneOnEveryPath) {
  auto region = make_region<std::uint64_t>(fleet_, "dropped", {.elements = 10});
  ASSERT_TRUE(region.store(3, 4));
  ASSERT_TRUE(region.drop());
  for (const Reach reach : {Reach::automatic, Reach::message}) {
    const Failure failure = failure_of(region.through(reach).load(3));
    EXPECT_EQ(failure.reason, ErrorCode::not_found) << failure.message;
    EXPECT_NE(failure.message.find("'dropped'"), std::string::npos) << failure.message;
  }
  EXPECT_FALSE(region.store(3, 5));
  EXPECT_FALSE(Words::attach(fleet_, "dropped"));
  auto again = make_region<std::uint64_t>(fleet_, "dropped", {.elements = 10});
  EXPECT_EQ(value_of(again.load(3)), 0U);
}

TEST_P(RegionClient, AnotherClientAttachesAndSeesTheSame) {
  auto region = make_region<std::uint64_t>(fleet_, "shared", {.elements = 10});
  ASSERT_TRUE(region.store(3, 4));
  auto other = Fleet::join(fleet_.describe().at(0).addresses.at(0));
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(eventually([&] { return Words::attach(*other, "shared").has_value(); }));
  auto theirs = Words::attach(*other, "shared").value();
  EXPECT_EQ(value_of(theirs.load(3)), 4U);
  ASSERT_TRUE(theirs.store(4, 5));
  EXPECT_EQ(value_of(region.load(4)), 5U);
}

TEST_P(RegionClient, AChaseComesToTheSameEndByEveryMechanism) {
  constexpr std::uint64_t kElements = 3000;
  auto list = make_region<std::uint64_t>(fleet_, "list",
                                         {.elements = kElements, .sharding = Sharding::hashed()});
  std::vector<std::uint64_t> next(kElements);
  for (std::uint64_t i = 0; i < kElements; ++i) next[i] = (i * 7 + 11) % kElements;
  ASSERT_TRUE(list.store(0, next));
  for (const std::uint64_t steps : {0, 1, 2, 63, 1024, 1025, 4000}) {
    std::uint64_t expected = 5;
    for (std::uint64_t i = 0; i < steps; ++i) expected = next[expected];
    EXPECT_EQ(value_of(ops::chase(list, 5, steps).get()), expected);
    EXPECT_EQ(value_of(ops::chase(list, 5, steps, ops::Mechanism::code).get()), expected);
    EXPECT_EQ(value_of(ops::chase(list, 5, steps, ops::Mechanism::get).get()), expected);
    const auto direct = ops::chase(list, 5, steps, ops::Mechanism::direct).get();
    if (GetParam() == LocalTransport::shm) {
      EXPECT_EQ(value_of(direct), expected);
    } else {
      EXPECT_EQ(failure_of(direct).reason, ErrorCode::unsupported);
    }
  }
}

TEST_P(RegionClient, AChaseOfManyStepsOnOneNodeLetsOthersHaveTheirTurn) {
  auto ring = make_region<std::uint64_t>(fleet_, "ring", {.elements = 3});
  ASSERT_TRUE(ring.store(0, std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(value_of(ops::chase(ring, 1, 100'000, ops::Mechanism::code).get()), 1U);
}

TEST_P(RegionClient, AChaseThatLeavesTheRegionSaysSo) {
  auto list = make_region<std::uint64_t>(fleet_, "broken", {.elements = 9});
  ASSERT_TRUE(list.store(0, 8));
  ASSERT_TRUE(list.store(8, 900));
  for (const auto mechanism : {ops::Mechanism::code, ops::Mechanism::get}) {
    const Failure failure = failure_of(ops::chase(list, 0, 5, mechanism).get());
    EXPECT_EQ(failure.reason, ErrorCode::invalid_argument) << failure.message;
    EXPECT_NE(failure.message.find("900"), std::string::npos) << failure.message;
    EXPECT_NE(failure.message.find("'broken'"), std::string::npos) << failure.message;
  }
  EXPECT_EQ(failure_of(ops::chase(list, 9, 5).get()).reason, ErrorCode::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Over, RegionClient,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
