// Objects in whole fleets: put, read and ended by other processes than their home.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/ids.hpp"
#include "node/object_for_test.hpp"
#include "ref/access/access.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Numbers = std::uint64_t[];
using Table = std::map<std::string, std::vector<std::int64_t>>;

struct Lamp {
  std::uint32_t number = 0;
  bool lit = false;
};
GODWIT_STRUCT(Lamp, number, lit);

class Objects : public ObjectFleet {
 protected:
  // An object of a program that says it is a T.
  template <class T>
  Ref<T> put_as(std::span<const std::byte> bytes) {
    const detail::ObjectDoor door(fleet_.objects());
    const auto handle =
        door.put(fleet_.node(0).id(), {.type = detail::ObjectCodec<T>::type_hash()}, {&bytes, 1});
    return good(Ref<T>::from(fleet_, good(handle)));
  }
  // Requests that the node has taken so far.
  [[nodiscard]] std::uint64_t taken(std::size_t node) const {
    return status_of(fleet_, fleet_.node(node))["counters"]["calls_taken"].count();
  }
};

TEST_P(Objects, AnArrayIsReadWhereItIsWanted) {
  for (const std::size_t count : {0, 1, 100, 5'000, 1'000'000}) {
    const auto values = numbers(count);
    const auto ref = good(fleet_.node(1).put(values));
    EXPECT_EQ(ref.handle().size, count * 8);
    EXPECT_EQ(ref.home(), fleet_.node(1).id());
    const auto found = good(ref.resolve());
    ASSERT_TRUE(std::equal(found->begin(), found->end(), values.begin(), values.end())) << count;
    const bool large = count * 8 > (16 << 10);
    // Small ones come with the answer, until this process looks at what the home shows.
    const ResolvedBy small =
        shm() && found.how() == ResolvedBy::copy ? ResolvedBy::copy : ResolvedBy::message;
    const ResolvedBy how = !large ? small : shm() ? ResolvedBy::mapping : ResolvedBy::stream;
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
  const Table table{{"a", {1, 2}}, {"b", {}}};
  const auto map = good(fleet_.node(0).put(table));
  EXPECT_EQ(*map, table);
  EXPECT_EQ(map->at("a").size(), 2);
}

TEST_P(Objects, BytesThatAreNotOfTheTypeAreNamedAndHoldNothing) {
  const std::vector<std::byte> garbage(100'000, std::byte{0xC1});  // which msgpack never uses
  const auto table = put_as<Table>(garbage);
  const std::string name = table.handle().object.short_hex();
  expect_error(table.resolve(), ErrorCode::bad_format,
               "object " + name + ": its bytes are no map<str, list<i64>>");
  expect_error(resolve_batch(std::span<const Ref<Table>>(&table, 1)).front(), ErrorCode::bad_format,
               name);
  const auto later = table.resolve_later().get();
  ASSERT_FALSE(later);
  EXPECT_EQ(to_string(later.error().reason), to_string(ErrorCode::bad_format));
  EXPECT_THROW(static_cast<void>(table->size()), ResolveError);
  EXPECT_FALSE(table.is_resolved());
  EXPECT_TRUE(eventually([&] { return good(table.status()).pins == 0; }));

  Lamp lamp{7, true};
  const auto bytes = std::as_writable_bytes(std::span(&lamp, 1));
  bytes[offsetof(Lamp, lit)] = std::byte{2};
  expect_error(put_as<Lamp>(bytes).resolve(), ErrorCode::bad_format, "a bool is neither 0 nor 1");
  expect_error(put_as<Lamp[]>(bytes).resolve(), ErrorCode::bad_format, "a bool is neither 0 nor 1");
  expect_error(put_as<Lamp>(bytes.first(6)).resolve(), ErrorCode::bad_format, "another size");
  expect_error(put_as<Lamp[]>(bytes.first(6)).resolve(), ErrorCode::bad_format, "is missing");
  expect_error(put_as<Lamp>({}).resolve(), ErrorCode::bad_format, "another size");
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
  // One question, and an answer that is little more than these bytes.
  const std::uint64_t before = taken(0);
  const wire::ObjectItem item{.handle = ref.handle(), .a = 8'000, .b = 24, .d = 1};
  auto answered =
      ref::ask_one(fleet_.objects().asking(), NodeId{ref.home()}, wire::ObjectOp::read, item);
  EXPECT_LE(good(std::move(answered)).call.result().size(), 24 + 256);
  EXPECT_EQ(good(ref.slice(1'000, 3)), (std::vector<std::uint64_t>{1'007, 1'008, 1'009}));
  EXPECT_EQ(good(ref.strided(10, 3, 100)), (std::vector<std::uint64_t>{17, 117, 217}));
  EXPECT_LE(taken(0) - before, 4) << "no more was asked for";
  EXPECT_EQ(good(ref.slice(0, 50'000)).back(), 50'006);
  EXPECT_TRUE(good(ref.slice(100'000, 0)).empty());
  expect_error(ref.slice(99'999, 2), ErrorCode::invalid_argument, "beyond its end");
  expect_error(ref.strided(0, 3, 60'000), ErrorCode::invalid_argument, "beyond its end");
  expect_error(ref.strided(0, 1'000'000'000'000, 0), ErrorCode::invalid_argument, "overlap");
  std::vector<Point> points(100'000);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = {0.5, static_cast<double>(i)};
  const auto cloud = good(fleet_.node(0).put(points));
  EXPECT_EQ(good(cloud.field(&Point::y, 70'000, 3)), (std::vector{70'000., 70'001., 70'002.}));
  EXPECT_EQ(good(cloud.field(&Point::x, 0, 100'000)), std::vector(100'000, 0.5));
  expect_error(cloud.field(&Point::y, 99'999, 2), ErrorCode::invalid_argument, "beyond its end");
  expect_error(cloud.field(&Point::y, 1, UINT64_MAX), ErrorCode::invalid_argument, "so many");
}

TEST_P(Objects, ManyAreMovedInFewMessages) {
  constexpr std::uint64_t kFew = 3;  // one for all, and what else a home is told now and then
  const std::vector<std::vector<std::uint64_t>> small(500, numbers(100));
  good(good(fleet_.node(1).put(small.front())).evict());  // so that the home is known
  std::vector<Ref<std::uint64_t[]>> handles;
  std::uint64_t before = taken(1);
  for (auto& ref : fleet_.node(1).put_batch(std::span(small))) {
    handles.push_back(good(std::move(ref)));
  }
  EXPECT_LE(taken(1) - before, kFew) << "put";
  before = taken(1);
  for (const auto& found : resolve_batch(std::span<const Ref<std::uint64_t[]>>(handles))) {
    ASSERT_TRUE(found) << found.error().message;
  }
  EXPECT_LE(taken(1) - before, kFew) << "resolved";
  before = taken(1);
  for (const auto& ref : handles) {
    ASSERT_TRUE(ref.is_resolved());
    ASSERT_EQ((*ref).size(), 100);
  }
  EXPECT_LE(taken(1) - before, kFew) << "and kept";
}

TEST_P(Objects, ABatchGivesWhatItsRefsHaveAndAsksForTheRest) {
  const auto counted = good(fleet_.node(1).put(numbers(10), {.lifetime = Lifetime::readers(1)}));
  const auto kept = good(fleet_.node(0).put(numbers(20'000)));
  const auto gone = good(fleet_.node(1).put(numbers(30)));
  const auto before = good(kept.resolve());
  good(gone.evict());
  // A copy of a Ref, too: one reader is all that the object has.
  const std::vector<Ref<Numbers>> refs{counted, kept, gone, counted};
  const auto found = resolve_batch<Numbers>(refs);
  ASSERT_EQ(found.size(), refs.size());
  EXPECT_EQ(good(found[0])->size(), 10);
  EXPECT_EQ(good(found[1])->data(), before->data());
  expect_error(found[2], ErrorCode::not_found, gone.handle().object.short_hex());
  EXPECT_EQ(good(found[3])->data(), good(found[0])->data());
  EXPECT_TRUE(counted.is_resolved());
  EXPECT_FALSE(gone.is_resolved());
  EXPECT_TRUE(resolve_batch<Numbers>({}).empty());
}

TEST_P(Objects, ManyOfAllSizesAreMovedTogetherAndEachHasItsOwnError) {
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

// Defect 3 of ProxyStore's: who reads while another updates sees some of both. The bytes of each
// version are its number, and its size follows from it.
TEST_P(Objects, Defect3WhoReadsWhileAnotherUpdatesSeesOneVersion) {
  constexpr std::uint64_t kEnough = 40;
  const auto version = [](std::uint64_t number) {
    // By message or copy, by mapping or stream, and by stream in pieces.
    constexpr std::array<std::size_t, 8> kSizes{500, 20'000, 500, 20'000, 500, 1, 20'000, 600'000};
    return std::vector<std::uint64_t>(kSizes[number % kSizes.size()], number);
  };
  const auto first = good(fleet_.node(1).put(version(1)));
  std::array<std::atomic<std::uint64_t>, 2> read{};  // versions
  std::atomic<bool> over = false;
  std::vector<std::thread> readers;
  for (std::atomic<std::uint64_t>& versions : read) {
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      while (!over) {
        const auto newest = good(first.latest());
        const auto found = newest.resolve();
        if (!found) {
          EXPECT_EQ(found.error().code, ErrorCode::stale) << found.error().message;
          continue;  // a newer one was quicker
        }
        const std::uint64_t number = newest.handle().version;
        EXPECT_TRUE(std::ranges::equal(**found, version(number))) << "version " << number;
        EXPECT_GE(number, last) << "what is newest never becomes older";
        versions += number != last ? 1 : 0;
        last = number;
      }
    });
  }
  Ref<std::uint64_t[]> newest = first;
  EXPECT_TRUE(eventually(
      [&] {
        newest = good(newest.update(version(newest.handle().version + 1)));
        return (read[0] >= kEnough && read[1] >= kEnough) || HasFailure();
      },
      seconds(30)))
      << read[0] << " and " << read[1];
  over = true;
  for (std::thread& reader : readers) reader.join();
}

// Defect 8 of ProxyStore's: its cache gives one object, which can be changed, to several proxies.
TEST_P(Objects, WhatOneRefUpdatesAnotherDoesNotSee) {
  static_assert(std::is_same_v<decltype(*std::declval<Ref<Table>&>()), const Table&>);
  static_assert(std::is_same_v<decltype(std::declval<Ref<Table>&>().operator->()), const Table*>);
  static_assert(std::is_same_v<decltype(*std::declval<Pinned<Table>&>()), const Table&>);
  const Table table{{"a", {1, 2}}};
  const auto first = good(fleet_.node(0).put(table));
  const auto other = good(Ref<Table>::from(fleet_, first.handle()));
  EXPECT_EQ(*first, table);
  EXPECT_EQ(*other, table);
  Table mine = *first;
  mine["a"].push_back(3);
  EXPECT_EQ(*other, table) << "a copy is the reader's own";
  const auto second = good(first.update(mine));
  EXPECT_EQ(*second, mine);
  EXPECT_EQ(*first, table);
  EXPECT_EQ(*other, table);
  EXPECT_EQ(*good(other.latest()), mine);
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

TEST_P(Objects, APinnedOneOutlivesItsLifetime) {
  const auto ref = good(fleet_.node(0).put(numbers(10'000), {.lifetime = Lifetime::readers(1)}));
  good(ref.pin());
  EXPECT_TRUE(good(ref.status()).pinned);
  EXPECT_EQ((*ref).size(), 10'000);
  ref.forget();
  EXPECT_TRUE(eventually([&] { return good(ref.status()).pins == 0; })) << "its reader is done";
  EXPECT_EQ((*ref)[9'999], 10'006) << "and there is another";
  ref.forget();
  good(ref.unpin());
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
  const std::string_view told = lost.error().message;
  EXPECT_NE(told.find(ref.handle().object.short_hex()), told.npos) << told;
  EXPECT_NE(told.find(to_hex(ref.home())), told.npos) << told;
  EXPECT_EQ((*reader)[99'999], 100'006) << "what was read stays";
  good(fleet_.restart(node));
}

INSTANTIATE_TEST_SUITE_P(Fleets, Objects, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         transport_name);

}  // namespace
}  // namespace godwit::node
