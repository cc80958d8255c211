// The pieces a store is made of, and what its hot path costs.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/allocation_count.hpp"
#include "base/random.hpp"
#include "base/seeds_for_test.hpp"
#include "ref/home/holders.hpp"
#include "ref/home/numbered.hpp"
#include "ref/home/reservations.hpp"
#include "ref/home/store_for_test.hpp"
#include "ref/home/time_heap.hpp"

namespace godwit::ref {
namespace {

struct Timed : TimeHook {};

TEST(TimeHeap, TellsTheEarliestWhateverWasChanged) {
  for (const std::uint64_t seed : Seeds(1, 50)) {
    Random random(seed);
    std::vector<Timed> items(40);
    TimeHeap<Timed> heap;
    std::multiset<std::int64_t> expected;
    for (int i = 0; i < 500; ++i) {
      Timed& item = items[random.below(items.size())];
      if (item.at != kNever) expected.erase(expected.find(item.at.ns));
      const Time at =
          random.below(3) == 0 ? kNever : Time{static_cast<std::int64_t>(random.below(100))};
      heap.set(item, at);
      if (at != kNever) expected.insert(at.ns);
      ASSERT_EQ(heap.next(), expected.empty() ? kNever : Time{*expected.begin()});
      ASSERT_EQ(heap.due({-1}), nullptr);
      EXPECT_EQ(heap.due({100}) != nullptr, !expected.empty());
    }
  }
}

TEST(TimeHeap, AWaitWithoutEndIsNever) {
  EXPECT_EQ(after({5}, Duration(7)), Time{12});
  EXPECT_EQ(after({5}, Duration::max()), kNever);
}

struct Thing : NumberedItem {};

TEST(Numbered, NumbersAreNotUsedAgainAndKeepTheirSuffix) {
  Numbered<Thing> things(5);
  std::set<std::uint64_t> given;
  for (int i = 0; i < 1'000; ++i) {
    Thing* thing = things.add();
    ASSERT_NE(thing, nullptr);
    EXPECT_TRUE(given.insert(thing->number).second);
    EXPECT_EQ(thing->number % 16, 5);
    EXPECT_EQ(things.find(thing->number), thing);
    const std::uint64_t number = thing->number;
    if (i % 3 == 0) continue;
    things.remove(*thing);
    EXPECT_EQ(things.find(number), nullptr);
  }
  EXPECT_EQ(things.size(), 334);
  EXPECT_EQ(things.find(0), nullptr);
  EXPECT_EQ(things.find(UINT64_MAX), nullptr);
}

TEST(Numbered, HasALimit) {
  Numbered<Thing> things;
  for (std::size_t i = 0; i < Numbered<Thing>::kMax; ++i) ASSERT_NE(things.add(), nullptr);
  EXPECT_EQ(things.add(), nullptr);
}

TEST(Reservations, WhatEndsWhileItIsWrittenIsKeptForTheWriter) {
  constexpr Holder holder{.node = {1}, .epoch = {1}};
  const Extent extent{.segment = 3};
  Reservations reservations(0);
  const std::uint64_t ticket = reservations.add(holder, 1, extent, 10).value();
  Reservations::Room* room = reservations.enter(holder, ticket).value();
  EXPECT_EQ(code_of(reservations.claim(holder, ticket)), ErrorCode::would_block);
  EXPECT_FALSE(reservations.abandon(holder, ticket)) << "it is being written";
  EXPECT_EQ(code_of(reservations.enter(holder, ticket)), ErrorCode::not_found);
  EXPECT_EQ(reservations.leave(*room).extent.segment, 3);
  EXPECT_EQ(reservations.size(), 0);
}

TEST(Reservations, WhatIsBecomingAnObjectIsNotWritten) {
  constexpr Holder holder{.node = {1}, .epoch = {1}};
  Reservations reservations(0);
  const std::uint64_t ticket = reservations.add(holder, 4, {.segment = 3}, 10).value();
  Reservations::Room* room = reservations.claim(holder, ticket).value();
  EXPECT_EQ(code_of(reservations.enter(holder, ticket)), ErrorCode::would_block);
  EXPECT_EQ(code_of(reservations.claim(holder, ticket)), ErrorCode::would_block);
  EXPECT_TRUE(reservations.end({holder.node, 3}).empty()) << "of an earlier life";
  EXPECT_TRUE(reservations.end({holder.node, 4}).empty()) << "it is in use";
  reservations.consume(*room);
  EXPECT_EQ(reservations.size(), 0);
}

using Cost = StoreTest;

TEST_F(Cost, ReadingAllocatesNothingAndPuttingOnlyTheRecord) {
  if (!counts_allocations) GTEST_SKIP() << "nothing is counted here";
  constexpr std::size_t kMany = 4'096;
  const std::string text(1'024, 'x');
  const Bytes part = bytes_of(text);
  std::vector<Handle> handles(kMany);
  const auto put_all = [&] {
    for (Handle& handle : handles) handle = *store.put(kAlice, {}, std::span(&part, 1), kWait);
  };
  const auto read_all = [&] {
    for (const Handle& handle : handles) {
      const auto located = store.locate(kBob, handle, kWait);
      store.release(kBob, located->pin);
    }
  };
  const auto evict_all = [&] {
    for (const Handle& handle : handles) EXPECT_TRUE(store.evict(handle));
  };
  for (int i = 0; i < 8; ++i) {  // tables grow, in every shard
    put_all();
    read_all();
    evict_all();
  }
  const std::uint64_t before = allocation_count();
  put_all();
  const std::uint64_t put = allocation_count();
  read_all();
  const std::uint64_t read = allocation_count();
  evict_all();
  EXPECT_LE(put - before, kMany);
  EXPECT_EQ(read - put, 0);
  EXPECT_EQ(allocation_count() - read, 0);
}

}  // namespace
}  // namespace godwit::ref
