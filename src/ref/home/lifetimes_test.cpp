#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;

class Lifetimes : public StoreTest {
 protected:
  static NewObject leased(Duration lease) {
    return {.lifetime = {.kind = LifetimeKind::lease, .lease = lease}};
  }
  static NewObject read_by(std::uint32_t readers) {
    return {.lifetime = {.kind = LifetimeKind::readers, .readers = readers}};
  }
  static NewObject of_holder() { return {.lifetime = {.kind = LifetimeKind::holder}}; }
};

TEST_F(Lifetimes, ALeaseEndsToTheNanosecondSweptOrNot) {
  const Handle handle = put(kAlice, "x", leased(2s));
  EXPECT_EQ(store.sweep(), clock.now() + 2s);
  clock.advance(2s - 1ns);
  EXPECT_EQ(read(kAlice, handle), "x");
  clock.advance(1ns);
  EXPECT_FALSE(store.exists(handle));
  EXPECT_EQ(locate_error(kAlice, handle), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Lifetimes, ASweepEndsWhatNobodyAsksFor) {
  for (int i = 0; i < 1'000; ++i) put(kAlice, "x", leased(std::chrono::seconds(1 + i)));
  const Handle lasting = put(kAlice, "y");
  pass(400s);
  EXPECT_EQ(store.stats().objects, 601);
  EXPECT_EQ(store.stats().expired, 400);
  EXPECT_EQ(store.sweep(), clock.now() + 1s);
  pass(600s);
  EXPECT_EQ(store.stats().objects, 1);
  EXPECT_EQ(store.sweep(), Time{INT64_MAX});
  EXPECT_TRUE(store.exists(lasting));
}

// Defect 4 of the nine.
TEST_F(Lifetimes, Defect4AShortenedLeaseEndsEarlierAndAnExtendedOneLater) {
  const Handle shorter = put(kAlice, "x", leased(2s));
  const Handle longer = put(kAlice, "y", leased(2s));
  clock.advance(100ms);
  ASSERT_TRUE(store.set_lifetime(shorter, leased(300ms).lifetime, kAlice));
  ASSERT_TRUE(store.set_lifetime(longer, leased(4s).lifetime, kAlice));
  EXPECT_EQ(store.sweep(), clock.now() + 300ms);
  pass(300ms);
  EXPECT_FALSE(store.exists(shorter));
  pass(3s);
  EXPECT_TRUE(store.exists(longer));
  EXPECT_EQ(store.describe(longer)->time_left, 700ms);
  pass(700ms);
  EXPECT_FALSE(store.exists(longer));
  expect_empty();
}

TEST_F(Lifetimes, ALeaseForEverIsOne) {
  const Handle handle = put(kAlice, "x", leased(Duration::max()));
  pass(24h * 365);
  EXPECT_TRUE(store.exists(handle));
}

TEST_F(Lifetimes, OneThatIsOverBeforeItBeginsIsRefused) {
  EXPECT_EQ(code_of(store.put(kAlice, leased(0s), {}, kWait)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.put(kAlice, leased(-1s), {}, kWait)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.put(kAlice, read_by(0), {}, kWait)), ErrorCode::invalid_argument);
  const Lifetime unknown{.kind = static_cast<LifetimeKind>(9)};
  EXPECT_EQ(code_of(store.put(kAlice, {.lifetime = unknown}, {}, kWait)),
            ErrorCode::invalid_argument);
  const Handle handle = put(kAlice, "x");
  EXPECT_EQ(code_of(store.set_lifetime(handle, leased(0s).lifetime, kAlice)),
            ErrorCode::invalid_argument);
  EXPECT_TRUE(store.exists(handle));
}

TEST_F(Lifetimes, ReadersAreCountedExactly) {
  const Handle handle = put(kAlice, "x", read_by(3));
  EXPECT_EQ(read(kAlice, handle), "x");
  EXPECT_EQ(read(kBob, handle), "x");
  EXPECT_EQ(store.describe(handle)->readers_left, 1);
  EXPECT_EQ(read(kBob, handle), "x");
  EXPECT_EQ(locate_error(kCarol, handle), ErrorCode::not_found);
  EXPECT_EQ(store.stats().expired, 1);
  expect_empty();
}

// Defect 1 of the nine.
TEST_F(Lifetimes, Defect1WhoReadsAtTheSameTimeAsTheLastReaderReadsToo) {
  const Handle handle = put(kAlice, "once", read_by(1));
  const Located first = locate(kBob, handle);
  const Located second = locate(kBob, handle);
  store.release(kBob, first.pin);
  EXPECT_FALSE(store.exists(handle));
  EXPECT_EQ(text_at(second), "once");
  store.release(kBob, second.pin);
  expect_empty();
}

TEST_F(Lifetimes, AReaderThatDiesHasNotRead) {
  const Handle handle = put(kAlice, "x", read_by(1));
  locate(kBob, handle);
  pass(ObjectStore::kHolderLease);
  EXPECT_EQ(store.stats().pins, 0);
  EXPECT_EQ(read(kCarol, handle), "x");
  expect_empty();
}

TEST_F(Lifetimes, AnObjectOfItsHolderEndsWithIt) {
  const Handle handle = put(kAlice, "x", of_holder());
  const Handle another = put(kBob, "y");
  ASSERT_TRUE(store.set_lifetime(another, of_holder().lifetime, kAlice));
  const Located pinned = locate(kCarol, handle);
  clock.advance(9s);
  EXPECT_TRUE(store.renew(kAlice));
  EXPECT_TRUE(store.renew(kCarol));
  EXPECT_FALSE(store.renew(kBob)) << "he holds nothing";
  pass(9s);
  EXPECT_TRUE(store.renew(kCarol));
  EXPECT_TRUE(store.exists(handle));
  pass(1s);
  EXPECT_FALSE(store.exists(handle));
  EXPECT_FALSE(store.exists(another));
  EXPECT_EQ(text_at(pinned), "x");
  EXPECT_EQ(store.stats().holders_lost, 1);
  EXPECT_FALSE(store.renew(kAlice));
  store.release(kCarol, pinned.pin);
  expect_empty();
}

TEST_F(Lifetimes, AHolderWhoseLinkBrokeHasAMomentToComeBack) {
  const Handle handle = put(kAlice, "x", of_holder());
  store.lost(kAlice.node);
  EXPECT_EQ(store.sweep(), clock.now() + ObjectStore::kLostGrace);
  pass(1s);
  EXPECT_TRUE(store.renew(kAlice));
  pass(5s);
  EXPECT_TRUE(store.exists(handle));
  store.lost(kAlice.node);
  pass(1s);
  store.lost(kAlice.node);
  pass(1s);
  EXPECT_FALSE(store.exists(handle)) << "being lost again gives no more time";
  expect_empty();
}

TEST_F(Lifetimes, AHolderThatIsCutOffHasAWholeLeaseToComeBack) {
  const Handle handle = put(kAlice, "x", of_holder());
  pass(ObjectStore::kHolderLease - 1s);
  store.cut_off(kAlice.node);
  EXPECT_EQ(store.sweep(), clock.now() + ObjectStore::kHolderLease);
  pass(ObjectStore::kHolderLease - 1s);
  EXPECT_TRUE(store.exists(handle));
  pass(1s);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST(LinkedHolders, AreSilentForAsLongAsTheyLike) {
  ManualClock clock;
  bool linked = true;
  ObjectStore::Options options = options_for_test();
  options.is_linked = [&](NodeId) { return linked; };
  ObjectStore store(clock, std::move(options));
  constexpr Holder kStopped{.node = {1}, .epoch = {10}};
  const Handle handle =
      store.put(kStopped, {.lifetime = {.kind = LifetimeKind::holder}}, {}, kWait).value();
  for (int i = 0; i < 10; ++i) {
    clock.advance(11s);
    store.sweep();
    EXPECT_TRUE(store.exists(handle));
  }
  linked = false;
  clock.advance(11s);
  store.sweep();
  EXPECT_FALSE(store.exists(handle));
}

TEST_F(Lifetimes, ALaterProcessOfANodeEndsTheEarlierOne) {
  constexpr Holder later{.node = kAlice.node, .epoch = {11}};
  const Handle mine = put(kAlice, "x", of_holder());
  const Handle shared = put(kBob, "y");
  const Located pinned = locate(kAlice, shared);
  const Located elsewhere = locate(kAlice, mine);
  reserve(kAlice, "z");
  const Located again = locate(later, shared);
  EXPECT_FALSE(store.exists(mine));
  EXPECT_EQ(store.stats().pins, 1);
  EXPECT_EQ(store.stats().reservations, 0);
  store.release(kAlice, pinned.pin);
  store.release(later, elsewhere.pin);
  EXPECT_EQ(locate_error(kAlice, shared), ErrorCode::node_lost);
  EXPECT_EQ(code_of(store.reserve(kAlice, 1, kWait)), ErrorCode::node_lost);
  EXPECT_FALSE(store.renew(kAlice));
  EXPECT_TRUE(store.renew(later));
  store.release(later, again.pin);
  ASSERT_TRUE(store.evict(shared));
  expect_empty();
}

TEST_F(Lifetimes, AHolderThatLeavesLetsGoOfEverythingAtOnce) {
  const Handle mine = put(kAlice, "x", of_holder());
  const Handle owned = put(kAlice, "y", {.owned = true});
  const Handle shared = put(kBob, "z", read_by(1));
  locate(kAlice, shared);
  ASSERT_TRUE(store.borrow(kAlice, shared, ObjectStore::BorrowKind::read));
  reserve(kAlice, "unfinished");
  store.leave({.node = kAlice.node, .epoch = {9}});
  EXPECT_TRUE(store.exists(mine)) << "another life of that node";
  store.leave(kAlice);
  store.leave(kAlice);
  EXPECT_FALSE(store.exists(mine));
  EXPECT_FALSE(store.exists(owned));
  EXPECT_FALSE(store.renew(kAlice));
  EXPECT_EQ(read(kCarol, shared), "z");
  expect_empty();
}

TEST_F(Lifetimes, ReservationsEndWithTheirHolder) {
  const std::uint64_t ticket = reserve(kAlice, "unfinished");
  clock.advance(9s);
  store.renew(kAlice);
  pass(9s);
  EXPECT_EQ(store.stats().reservations, 1);
  pass(1s);
  EXPECT_EQ(code_of(store.commit(kAlice, ticket, {})), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Lifetimes, WhatTheUserHasPinnedOutlivesItsLifetimeButNotEviction) {
  const Handle lease = put(kAlice, "x", leased(1s));
  const Handle readers = put(kAlice, "y", read_by(1));
  const Handle holder = put(kAlice, "z", of_holder());
  for (const Handle& handle : {lease, readers, holder}) {
    ASSERT_TRUE(store.set_pinned(handle, true));
  }
  EXPECT_EQ(read(kBob, readers), "y");
  pass(20s);
  for (const Handle& handle : {lease, readers, holder}) {
    EXPECT_TRUE(store.exists(handle));
    EXPECT_TRUE(store.describe(handle)->pinned_by_user);
  }
  EXPECT_EQ(read(kBob, readers), "y");
  ASSERT_TRUE(store.set_pinned(lease, false));
  ASSERT_TRUE(store.set_pinned(readers, false));
  EXPECT_FALSE(store.exists(lease));
  EXPECT_FALSE(store.exists(readers));
  ASSERT_TRUE(store.evict(holder));
  store.sweep();
  expect_empty();
}

TEST_F(Lifetimes, ANewLifetimeSavesWhatWasOver) {
  const Handle handle = put(kAlice, "x", leased(1s));
  ASSERT_TRUE(store.set_pinned(handle, true));
  pass(2s);
  ASSERT_TRUE(store.set_lifetime(handle, leased(5s).lifetime, kAlice));
  ASSERT_TRUE(store.set_pinned(handle, false));
  pass(4s);
  EXPECT_TRUE(store.exists(handle));
  pass(1s);
  expect_empty();
}

}  // namespace
}  // namespace godwit::ref
