#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Promises : public StoreTest {
 protected:
  Handle promise(Holder holder, const NewObject& object = {}, Duration at_most = {}) {
    return store.promise(holder, object, at_most).value();
  }
  bool wait(const Handle& handle, std::uint64_t waiter, std::uint64_t newer_than = 0) {
    return store.wait(handle, newer_than, waiter).value();
  }
  void die(Holder holder) {
    store.lost(holder.node);
    pass(ObjectStore::kLostGrace);
  }
};

TEST_F(Promises, AreFulfilledOnceAndThoseWhoWaitAreCalledOnce) {
  const Handle handle = promise(kAlice, {.type = 4});
  EXPECT_EQ(handle.size, Handle::kSizeUnknown);
  EXPECT_TRUE(store.exists(handle));
  EXPECT_TRUE(store.describe(handle)->pending);
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::would_block);
  EXPECT_EQ(code_of(store.borrow(kBob, handle, ObjectStore::BorrowKind::read)),
            ErrorCode::would_block);
  EXPECT_FALSE(wait(handle, 100));
  EXPECT_FALSE(wait(handle, 101));
  EXPECT_THAT(ready, IsEmpty());
  const Handle there = store.fulfil(kAlice, handle, reserve(kAlice, "kept")).value();
  EXPECT_EQ(there.size, 4);
  EXPECT_EQ(there.type, 4);
  EXPECT_EQ(there.version, handle.version);
  EXPECT_THAT(ready, ElementsAre(100, 101));
  EXPECT_TRUE(wait(handle, 102));
  EXPECT_EQ(read(kBob, handle), "kept");
  EXPECT_EQ(read(kBob, there), "kept");

  const std::uint64_t ticket = reserve(kAlice, "again");
  const auto again = store.fulfil(kAlice, handle, ticket);
  ASSERT_EQ(code_of(again), ErrorCode::already_exists);
  EXPECT_THAT(again.error().message, HasSubstr("fulfilled before"));
  EXPECT_EQ(code_of(store.break_promise(handle, {})), ErrorCode::already_exists);
  EXPECT_EQ(code_of(store.take_over(kBob, handle)), ErrorCode::already_exists);
  store.abandon(kAlice, ticket);
  ASSERT_TRUE(store.evict(handle));
  EXPECT_EQ(ready.size(), 2);
  expect_empty();
}

TEST_F(Promises, OfAProducerThatDiesAreBroken) {
  const Handle handle = promise(kAlice);
  const Handle owned = promise(kAlice, {.owned = true});
  const Handle kept = promise(kAlice, {.lifetime = {.kind = LifetimeKind::holder}});
  EXPECT_FALSE(wait(handle, 1));
  EXPECT_FALSE(wait(owned, 2));
  die(kAlice);
  EXPECT_THAT(ready, ElementsAre(1, 2));
  for (const Handle& broken : {handle, owned, kept}) {
    const auto located = store.locate(kBob, broken, kWait);
    ASSERT_EQ(code_of(located), ErrorCode::node_lost);
    EXPECT_THAT(located.error().message, HasSubstr(broken.object.short_hex()));
    EXPECT_THAT(located.error().message, HasSubstr("0000000000000001"));
    EXPECT_FALSE(store.exists(broken));
    EXPECT_TRUE(store.describe(broken)->broken);
    EXPECT_TRUE(wait(broken, 3));
  }
  pass(ObjectStore::kBrokenKept);
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::not_found) << "remembered for a while only";
  expect_empty();
}

TEST_F(Promises, AreAnsweredForByWhoTookThemOver) {
  const Handle handle = promise(kAlice);
  ASSERT_TRUE(store.take_over(kBob, handle));
  clock.advance(9s);
  store.renew(kBob);
  pass(5s);
  EXPECT_TRUE(store.exists(handle)) << "Alice is gone, and Bob is not";
  die(kBob);
  EXPECT_EQ(locate_error(kCarol, handle), ErrorCode::node_lost);
}

TEST_F(Promises, AreBrokenWhenTheirTimeIsOver) {
  const Handle handle = promise(kAlice, {}, 3s);
  EXPECT_FALSE(wait(handle, 1));
  EXPECT_EQ(store.sweep(), clock.now() + 3s);
  pass(3s);
  EXPECT_THAT(ready, ElementsAre(1));
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::deadline);
  const std::uint64_t ticket = reserve(kAlice, "late");
  EXPECT_EQ(code_of(store.fulfil(kAlice, handle, ticket)), ErrorCode::already_exists);
  EXPECT_EQ(code_of(store.promise(kAlice, {}, -1s)), ErrorCode::invalid_argument);
}

TEST_F(Promises, AreBrokenOrCancelledWithTheReason) {
  const Handle handle = promise(kAlice);
  EXPECT_FALSE(wait(handle, 1));
  ASSERT_TRUE(store.break_promise(handle, {ErrorCode::cancelled, "nobody wants it"}));
  EXPECT_THAT(ready, ElementsAre(1));
  const auto located = store.locate(kBob, handle, kWait);
  EXPECT_EQ(code_of(located), ErrorCode::cancelled);
  EXPECT_EQ(located.error().message, "nobody wants it");
  const std::uint64_t ticket = reserve(kAlice, "late");
  const auto late = store.fulfil(kAlice, handle, ticket);
  ASSERT_EQ(code_of(late), ErrorCode::already_exists);
  EXPECT_THAT(late.error().message, HasSubstr("cancelled before (nobody wants it)"));
  EXPECT_EQ(code_of(store.update(kAlice, handle, ticket)), ErrorCode::cancelled);
}

TEST_F(Promises, LeasesBeginWhenTheObjectComes) {
  const Handle handle = promise(kAlice, {.lifetime = {.kind = LifetimeKind::lease, .lease = 2s}});
  pass(5s);
  ASSERT_TRUE(store.exists(handle));
  ASSERT_TRUE(store.fulfil(kAlice, handle, reserve(kAlice, "x")));
  pass(1s);
  EXPECT_TRUE(store.exists(handle));
  pass(1s);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST_F(Promises, EvictingOneCallsThoseWhoWait) {
  const Handle handle = promise(kAlice);
  EXPECT_FALSE(wait(handle, 1));
  ASSERT_TRUE(store.evict(handle));
  EXPECT_THAT(ready, ElementsAre(1));
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.fulfil(kAlice, handle, reserve(kAlice, "x"))), ErrorCode::not_found);
}

using Waiting = Promises;

TEST_F(Waiting, ForANewerVersionEndsWithItOrWithTheObject) {
  const Handle first = put(kAlice, "one");
  EXPECT_TRUE(wait(first, 1));
  EXPECT_FALSE(wait(first, 2, 1));
  EXPECT_FALSE(wait(first, 3, 2));
  EXPECT_FALSE(wait(first, 4, UINT64_MAX));
  const Handle second = store.update(kAlice, first, reserve(kAlice, "two")).value();
  EXPECT_THAT(ready, ElementsAre(2));
  EXPECT_TRUE(wait(second, 5, 1));
  EXPECT_TRUE(wait(first, 6, 1)) << "a handle of any version";
  ASSERT_TRUE(store.evict(second));
  EXPECT_THAT(ready, ElementsAre(2, 3, 4));
  EXPECT_EQ(code_of(store.wait(second, 2, 7)), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Waiting, ThatWasStoppedIsNotCalled) {
  const Handle handle = promise(kAlice);
  EXPECT_FALSE(wait(handle, 1));
  EXPECT_FALSE(wait(handle, 2));
  EXPECT_EQ(code_of(store.wait(handle, 0, 2)), ErrorCode::already_exists);
  store.stop_waiting(1);
  store.stop_waiting(77);
  EXPECT_EQ(store.stats().waiters, 1);
  ASSERT_TRUE(store.break_promise(handle, {}));
  EXPECT_THAT(ready, ElementsAre(2));
  EXPECT_FALSE(called(1));
}

TEST_F(Waiting, ForAnEndIsOverWhenALeaseIsOverOrAnOwnerDies) {
  const Handle leased = put(kAlice, "x", {.lifetime = {.kind = LifetimeKind::lease, .lease = 1s}});
  const Handle owned = put(kAlice, "y", {.owned = true});
  EXPECT_FALSE(wait(leased, 1, 1));
  EXPECT_FALSE(wait(owned, 2, 1));
  pass(1s);
  EXPECT_THAT(ready, ElementsAre(1));
  die(kAlice);
  EXPECT_THAT(ready, ElementsAre(1, 2));
  expect_empty();
}

TEST_F(Waiting, MayAskTheStoreFromWithinTheCall) {
  ManualClock time;
  ObjectStore* asked = nullptr;
  bool there = false;
  Handle handle;
  ObjectStore::Options options = options_for_test();
  options.on_ready = [&](std::uint64_t) { there = asked->exists(handle); };
  ObjectStore own(time, std::move(options));
  asked = &own;
  handle = own.promise(kAlice, {}, {}).value();
  ASSERT_FALSE(own.wait(handle, 0, 1).value());
  const std::uint64_t ticket = own.reserve(kAlice, 1, kWait).value().ticket;
  ASSERT_TRUE(own.fulfil(kAlice, handle, ticket));
  EXPECT_TRUE(there);
}

TEST_F(Waiting, HasALimit) {
  const Handle handle = promise(kAlice);
  std::uint64_t waiter = 0;
  ErrorCode code = ErrorCode::none;
  while (code == ErrorCode::none && waiter < (std::uint64_t{1} << 21)) {
    code = code_of(store.wait(handle, 0, ++waiter));
  }
  EXPECT_EQ(code, ErrorCode::overload);
  EXPECT_EQ(store.stats().waiters, waiter - 1);
  ASSERT_TRUE(store.evict(handle));
  EXPECT_EQ(ready.size(), waiter - 1);
  expect_empty();
}

}  // namespace
}  // namespace godwit::ref
