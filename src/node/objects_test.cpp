// Objects in whole fleets: put, read and ended by other processes than their home.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Objects : public ObjectFleet {};

TEST_P(Objects, AnArrayIsReadWhereItIsWanted) {
  for (const std::size_t count : {0, 1, 100, 5'000, 1'000'000}) {
    const auto values = numbers(count);
    const auto ref = good(fleet_.node(1).put(values));
    EXPECT_EQ(ref.handle().size, count * 8);
    EXPECT_EQ(ref.home(), fleet_.node(1).id());
    const auto found = good(ref.resolve());
    ASSERT_TRUE(std::equal(found->begin(), found->end(), values.begin(), values.end())) << count;
    const bool large = count * 8 > (16 << 10);
    const ResolvedBy how = !large  ? ResolvedBy::message
                           : shm() ? ResolvedBy::mapping
                                   : ResolvedBy::stream;
    EXPECT_EQ(to_string(found.how()), to_string(how));
    good(ref.evict());
  }
}

TEST_P(Objects, ValuesOfAllKindsComeBack) {
  const auto point = good(fleet_.node(0).put(Point{1.5, 2.5}));
  EXPECT_EQ(point->y, 2.5);
  EXPECT_EQ(good(point.field(&Point::x)), 1.5);
  const auto text = good(fleet_.node(0).put(std::string("far away")));
  EXPECT_EQ(*text, "far away");
  const std::map<std::string, std::vector<std::int64_t>> table{{"a", {1, 2}}, {"b", {}}};
  const auto map = good(fleet_.node(0).put(table));
  EXPECT_EQ(*map, table);
  EXPECT_EQ(map->at("a").size(), 2);
}

TEST_P(Objects, ATextIsEnoughToReadOneFromElsewhere) {
  const auto values = numbers(100'000);
  const std::string text = good(fleet_.node(1).put(values)).handle().to_text();
  auto other = Fleet::join(fleet_.describe().front().addresses.front());
  ASSERT_TRUE(other) << other.error().message;
  const auto ref = good(Ref<std::uint64_t[]>::parse(*other, text));
  EXPECT_EQ((*ref).size(), values.size());
  EXPECT_EQ((*ref)[99'999], values.back());
  expect_error(Ref<double[]>::parse(*other, text), ErrorCode::type_mismatch, "list<f64>");
}

TEST_P(Objects, WhatWasEvictedIsGoneForNewReadersOnly) {
  const auto ref = good(fleet_.node(0).put(numbers(10'000)));
  const auto other = good(Ref<std::uint64_t[]>::from(fleet_, ref.handle()));
  const auto kept = good(ref.resolve());
  EXPECT_TRUE(good(other.exists()));
  good(other.evict());
  EXPECT_FALSE(good(ref.exists()));
  expect_error(other.resolve(), ErrorCode::not_found, ref.handle().object.short_hex());
  EXPECT_THROW(static_cast<void>(*other), ResolveError);
  EXPECT_EQ((*kept)[9'999], 10'006) << "a reader keeps what it has";
  good(other.evict());  // once more does no harm
}

TEST_P(Objects, PartsAreReadWithoutTheRest) {
  const auto ref = good(fleet_.node(0).put(numbers(100'000)));
  EXPECT_EQ(good(ref.slice(1'000, 3)), (std::vector<std::uint64_t>{1'007, 1'008, 1'009}));
  EXPECT_EQ(good(ref.strided(10, 3, 100)), (std::vector<std::uint64_t>{17, 117, 217}));
  EXPECT_EQ(good(ref.slice(0, 50'000)).back(), 50'006);
  EXPECT_TRUE(good(ref.slice(100'000, 0)).empty());
  expect_error(ref.slice(99'999, 2), ErrorCode::invalid_argument, "beyond its end");
  expect_error(ref.strided(0, 3, 60'000), ErrorCode::invalid_argument, "beyond its end");
  expect_error(ref.strided(0, 1'000'000'000'000, 0), ErrorCode::invalid_argument, "overlap");
}

TEST_P(Objects, ManyAreMovedInFewMessages) {
  std::vector<std::vector<std::uint64_t>> values;
  for (std::size_t i = 0; i < 500; ++i) values.push_back(numbers(i % 7 == 0 ? 3'000 : i));
  std::vector<Ref<std::uint64_t[]>> refs;
  for (auto& ref : fleet_.node(1).put_batch(std::span<const std::vector<std::uint64_t>>(values))) {
    refs.push_back(good(std::move(ref)));
  }
  ASSERT_EQ(refs.size(), values.size());
  good(refs[3].evict());
  const auto found = resolve_batch(std::span<const Ref<std::uint64_t[]>>(refs));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i == 3) {
      expect_error(found[i], ErrorCode::not_found);
      continue;
    }
    ASSERT_TRUE(found[i]) << found[i].error().message;
    EXPECT_EQ((*found[i])->size(), values[i].size());
  }
}

TEST_P(Objects, ManyAreResolvedWithoutWaitingForEach) {
  std::vector<Ref<std::uint64_t[]>> refs;
  for (std::size_t i = 0; i < 50; ++i) {
    refs.push_back(good(fleet_.node(i % 2).put(numbers(i % 5 == 0 ? 20'000 : i))));
  }
  good(refs[7].evict());
  std::vector<Future<Pinned<std::uint64_t[]>>> under_way;
  for (const auto& ref : refs) under_way.push_back(ref.resolve_later());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const auto found = under_way[i].get();
    if (i == 7) {
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().reason, ErrorCode::not_found) << found.error().message;
      continue;
    }
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ((*found)->size(), i % 5 == 0 ? 20'000 : i);
    EXPECT_TRUE(refs[i].is_resolved());
  }
}

TEST_P(Objects, ANewVersionLeavesTheOldOneToItsReaders) {
  const auto first = good(fleet_.node(0).put(numbers(5'000)));
  const auto unread = good(Ref<std::uint64_t[]>::from(fleet_, first.handle()));
  const auto reader = good(first.resolve());
  const auto second = good(first.update(numbers(10)));
  EXPECT_EQ(second.handle().version, 2);
  EXPECT_EQ((*second).size(), 10);
  EXPECT_EQ(reader->size(), 5'000);
  EXPECT_EQ(good(first.latest()).handle(), second.handle());
  expect_error(first.update(numbers(1)), ErrorCode::stale, "2");
}

TEST_P(Objects, ALeaseEndsWhenItSaysEvenIfItWasLonger) {
  const auto ref =
      good(fleet_.node(0).put(numbers(10), {.lifetime = Lifetime::lease(seconds(60))}));
  good(ref.set_lifetime(Lifetime::lease(milliseconds(50))));
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }, seconds(2)));
}

TEST_P(Objects, TwoThreadsMayResolveWhatOneReaderEnds) {
  const auto ref = good(fleet_.node(0).put(numbers(10'000), {.lifetime = Lifetime::readers(1)}));
  std::vector<std::thread> threads;
  std::atomic<int> read = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = ref, &read] {
      if (copy.resolve() && (*copy)[9'999] == 10'006) ++read;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read, 4);
  ref.forget();
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }));
}

TEST_P(Objects, ThoseOfAProcessEndWithIt) {
  Handle handle;
  {
    auto other = Fleet::join(fleet_.describe().front().addresses.front());
    ASSERT_TRUE(other) << other.error().message;
    const auto ref = good(other->node(0).put(numbers(10), {.lifetime = Lifetime::process()}));
    handle = ref.handle();
    EXPECT_TRUE(good(ref.exists()));
  }
  const auto ref = good(Ref<std::uint64_t[]>::from(fleet_, handle));
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }, seconds(5)));
}

TEST_P(Objects, FewerRightsCanBeGivenAway) {
  const auto ref = good(fleet_.node(0).put(numbers(10)));
  const auto read_only = good(ref.restrict_to(Rights::read));
  EXPECT_EQ(read_only->size(), 10);
  expect_error(read_only.evict(), ErrorCode::permission);
  expect_error(read_only.update(numbers(1)), ErrorCode::permission);
  expect_error(read_only.restrict_to(Rights::all), ErrorCode::permission);
  Handle forged = read_only.handle();
  forged.rights = Rights::all;
  expect_error(good(Ref<std::uint64_t[]>::from(fleet_, forged)).evict(), ErrorCode::permission,
               "forged");
}

TEST_P(Objects, AHomeThatDiedIsSaidToBeLost) {
  const auto node = fleet_.node(1);
  const auto ref = good(node.put(numbers(100'000)));
  const auto reader = good(ref.resolve());
  good(fleet_.kill(node));
  const auto again = good(Ref<std::uint64_t[]>::from(fleet_, ref.handle()));
  const auto lost = again.resolve();
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().code == ErrorCode::node_lost ||
              lost.error().code == ErrorCode::unreachable)
      << lost.error().message;
  EXPECT_EQ((*reader)[99'999], 100'006) << "what was read stays";
  good(fleet_.restart(node));
}

INSTANTIATE_TEST_SUITE_P(Fleets, Objects, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         transport_name);

}  // namespace
}  // namespace godwit::node
