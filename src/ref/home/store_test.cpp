#include "ref/home/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Store : public StoreTest {};

TEST_F(Store, WhatIsPutIsReadUntilEvicted) {
  const std::array<Bytes, 3> parts{bytes_of("one "), bytes_of(""), bytes_of("object")};
  const auto handle = store.put(kAlice, {.type = 7}, parts, kWait);
  ASSERT_TRUE(handle) << handle.error().message;
  EXPECT_EQ(handle->version, 1);
  EXPECT_EQ(handle->size, 10);
  EXPECT_EQ(handle->type, 7);
  EXPECT_EQ(handle->home, kHome.value);
  EXPECT_EQ(handle->rights, Rights::all);
  EXPECT_TRUE(store.exists(*handle));
  const Located located = locate(kBob, *handle);
  EXPECT_EQ(located.version, 1);
  EXPECT_EQ(located.type, 7);
  EXPECT_NE(located.segment, 0);
  EXPECT_EQ(text_at(located), "one object");
  store.release(kBob, located.pin);

  ASSERT_TRUE(store.evict(*handle));
  EXPECT_FALSE(store.exists(*handle));
  EXPECT_EQ(locate_error(kBob, *handle), ErrorCode::not_found);
  EXPECT_TRUE(store.evict(*handle)) << "evicting what is gone is fine";
  expect_empty();
}

TEST_F(Store, AnObjectOfNoBytesIsAnObject) {
  const Handle handle = store.put(kAlice, {}, {}, kWait).value();
  const Located located = locate(kBob, handle);
  EXPECT_EQ(located.size, 0);
  EXPECT_EQ(located.segment, 0);
  store.release(kBob, located.pin);
  ASSERT_TRUE(store.evict(handle));
  expect_empty();
}

TEST_F(Store, ObjectsOfManyThreadsHaveIdsOfTheirOwn) {
  std::vector<Handle> handles(64);
  std::vector<std::thread> threads;
  for (Handle& handle : handles) {
    threads.emplace_back([&] { handle = put(kAlice, "x"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < handles.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(handles[i].object, handles[j].object);
    EXPECT_EQ(read(kAlice, handles[i]), "x");
  }
}

TEST_F(Store, WhoHasPinnedReadsOnAfterEviction) {
  const Handle handle = put(kAlice, "still here");
  const Located first = locate(kBob, handle);
  const Located second = locate(kCarol, handle);
  ASSERT_TRUE(store.evict(handle));
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::not_found);
  EXPECT_EQ(text_at(first), "still here");
  store.release(kBob, first.pin);
  EXPECT_NE(store.arena().use().used_bytes, 0);
  EXPECT_EQ(text_at(second), "still here");
  store.release(kCarol, second.pin);
  expect_empty();
}

TEST_F(Store, PinsAreReleasedOnceAndByTheirHolder) {
  const Handle handle = put(kAlice, "mine");
  const Located located = locate(kAlice, handle);
  store.release(kBob, located.pin);
  store.release(kAlice, located.pin + 16);
  store.release(kAlice, 0);
  EXPECT_EQ(store.stats().pins, 1);
  store.release(kAlice, located.pin);
  EXPECT_EQ(store.stats().pins, 0);
  const Located another = locate(kAlice, handle);
  EXPECT_NE(another.pin, located.pin);
  store.release(kAlice, located.pin);
  EXPECT_EQ(store.stats().pins, 1) << "a number is not used again";
}

TEST_F(Store, WhoHasPinnedAVersionPinsItAgainWhateverBecameOfTheObject) {
  const Handle handle =
      put(kAlice, "x", {.lifetime = {.kind = LifetimeKind::readers, .readers = 2}});
  const Located first = locate(kBob, handle);
  const auto again = store.locate_again(kBob, handle, first.pin);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_NE(again->pin, first.pin);
  EXPECT_EQ(again->data, first.data);
  store.release(kBob, again->pin);
  EXPECT_EQ(store.describe(handle)->readers_left, 2) << "one reader, and it reads on";
  EXPECT_EQ(code_of(store.locate_again(kAlice, handle, first.pin)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.locate_again(kBob, handle, again->pin)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.locate_again(kBob, put(kAlice, "y"), first.pin)), ErrorCode::not_found);
  ASSERT_TRUE(store.evict(handle));
  const Located last = store.locate_again(kBob, handle, first.pin).value();
  store.release(kBob, first.pin);
  EXPECT_EQ(text_at(last), "x");
  store.release(kBob, last.pin);
  EXPECT_EQ(store.stats().pins, 0);
}

// Defect 2 of the nine.
TEST_F(Store, Defect2NothingStaleIsSeenAfterAnEvictionByAnother) {
  const Handle handle = put(kAlice, "old");
  EXPECT_EQ(read(kBob, handle), "old");
  ASSERT_TRUE(store.evict(handle));  // by Alice
  EXPECT_FALSE(store.exists(handle));
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::not_found);
}

TEST_F(Store, ReservationsBecomeObjects) {
  const Reservation room = store.reserve(kAlice, 6, kWait).value();
  EXPECT_NE(room.segment, 0);
  EXPECT_EQ(room.size, 6);
  ASSERT_TRUE(store.write(kAlice, room.ticket, 3, bytes_of("def")));
  ASSERT_TRUE(store.write(kAlice, room.ticket, 0, bytes_of("abc")));
  ASSERT_TRUE(store.write(kAlice, room.ticket, 6, {}));
  const auto handle = store.commit(kAlice, room.ticket, {.type = 3});
  ASSERT_TRUE(handle) << handle.error().message;
  EXPECT_EQ(handle->size, 6);
  EXPECT_EQ(read(kBob, *handle), "abcdef");
  EXPECT_EQ(code_of(store.commit(kAlice, room.ticket, {})), ErrorCode::not_found);
  EXPECT_EQ(store.stats().reservations, 0);
}

TEST_F(Store, ReservationsAreTheirHoldersAndBounded) {
  const std::uint64_t ticket = store.reserve(kAlice, 4, kWait).value().ticket;
  EXPECT_EQ(code_of(store.write(kBob, ticket, 0, bytes_of("x"))), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.commit(kBob, ticket, {})), ErrorCode::not_found);
  const Status beyond = store.write(kAlice, ticket, 3, bytes_of("xy"));
  EXPECT_EQ(code_of(beyond), ErrorCode::invalid_argument);
  EXPECT_THAT(beyond.error().message, HasSubstr("2 bytes at 3"));
  EXPECT_EQ(code_of(store.write(kAlice, ticket, UINT64_MAX, bytes_of("xy"))),
            ErrorCode::invalid_argument);
  store.abandon(kBob, ticket);
  EXPECT_EQ(store.stats().reservations, 1);
  store.abandon(kAlice, ticket);
  EXPECT_EQ(code_of(store.write(kAlice, ticket, 0, bytes_of("x"))), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Store, ACommitThatFailsLeavesTheReservation) {
  const std::uint64_t ticket = reserve(kAlice, "kept");
  EXPECT_EQ(code_of(store.commit(kAlice, ticket, {.lifetime = {.kind = LifetimeKind::readers}})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(read(kBob, store.commit(kAlice, ticket, {}).value()), "kept");
}

TEST_F(Store, HandlesThatWereForgedOrChangedAreRefused) {
  const Handle handle = put(kAlice, "x");
  Handle forged = handle;
  forged.mac ^= 1;
  EXPECT_EQ(locate_error(kBob, forged), ErrorCode::permission);
  EXPECT_FALSE(store.exists(forged));
  Handle more = store.restrict(handle, Rights::read).value();
  more.rights = Rights::all;
  EXPECT_EQ(code_of(store.evict(more)), ErrorCode::permission);
  Handle other_life = handle;
  HandleKey::random().sign(other_life);
  EXPECT_EQ(locate_error(kBob, other_life), ErrorCode::permission);
  Handle elsewhere = handle;
  elsewhere.home = 0xbb;
  const auto located = store.locate(kBob, elsewhere, kWait);
  EXPECT_EQ(code_of(located), ErrorCode::not_found);
  EXPECT_THAT(located.error().message, HasSubstr("00000000000000bb"));
  Handle format = handle;
  format.format = 9;
  EXPECT_EQ(locate_error(kBob, format), ErrorCode::bad_format);
  EXPECT_TRUE(store.exists(handle));
}

TEST_F(Store, RightsAreCheckedAtTheHome) {
  const Handle all = put(kAlice, "x", {.owned = true});
  const auto only = [&](Rights rights) { return store.restrict(all, rights).value(); };
  const Handle reader = only(Rights::read);
  EXPECT_EQ(read(kBob, reader), "x");
  EXPECT_EQ(locate_error(kBob, only(Rights::write | Rights::evict)), ErrorCode::permission);
  const std::uint64_t ticket = reserve(kAlice, "y");
  EXPECT_EQ(code_of(store.update(kAlice, reader, ticket)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.borrow(kBob, reader, ObjectStore::BorrowKind::write)),
            ErrorCode::permission);
  EXPECT_EQ(code_of(store.set_pinned(reader, true)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.set_lifetime(reader, {}, kBob)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.own(kBob, reader)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.drop(kAlice, reader)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.offer(kAlice, reader, 1s)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.break_promise(reader, {})), ErrorCode::permission);
  EXPECT_EQ(code_of(store.restrict(reader, Rights::read)), ErrorCode::permission);
  const Handle lender = only(Rights::read | Rights::delegate);
  EXPECT_EQ(store.restrict(lender, Rights::read).value(), reader);
  EXPECT_EQ(code_of(store.restrict(lender, Rights::evict)), ErrorCode::permission);
  const Status evicted = store.evict(reader);
  ASSERT_EQ(code_of(evicted), ErrorCode::permission);
  EXPECT_THAT(evicted.error().message, HasSubstr("allows read, and this needs evict"));
  EXPECT_THAT(evicted.error().message, HasSubstr(all.object.short_hex()));
}

TEST_F(Store, WhatDoesNotFitIsRefusedAndLeavesNothing) {
  const std::string large(std::size_t{65} << 20, 'x');
  const Bytes part = bytes_of(large);
  EXPECT_EQ(code_of(store.put(kAlice, {}, std::span(&part, 1), kWait)),
            ErrorCode::resource_exhausted);
  EXPECT_EQ(code_of(store.reserve(kAlice, large.size(), kWait)), ErrorCode::resource_exhausted);
  EXPECT_EQ(code_of(store.put(kAlice, {.persist = true}, {}, kWait)), ErrorCode::unsupported);
  expect_empty();
}

TEST_F(Store, TellsWhatItKnowsOfAnObject) {
  const Handle handle =
      put(kAlice, "told",
          {.type = 5, .lifetime = {.kind = LifetimeKind::lease, .lease = 5s}, .owned = true});
  clock.advance(2s);
  const Located located = locate(kBob, handle);
  const auto told = store.describe(store.restrict(handle, Rights::read).value());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->handle.size, 4);
  EXPECT_EQ(told->handle.type, 5);
  EXPECT_EQ(told->handle.rights, Rights::read);
  EXPECT_EQ(told->lifetime, LifetimeKind::lease);
  EXPECT_EQ(told->time_left, 3s);
  EXPECT_EQ(told->owner, kAlice);
  EXPECT_EQ(told->pins, 1);
  EXPECT_EQ(told->reads, 1);
  EXPECT_EQ(told->age, 2s);
  EXPECT_FALSE(told->pending);
  const auto list = store.list(10, Rights::read);
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].handle, told->handle);
  EXPECT_TRUE(store.list(0).empty());
  store.release(kBob, located.pin);
  clock.advance(3s);
  EXPECT_TRUE(store.list(10).empty()) << "over, though not swept";
}

class FewStore : public StoreTest {
 protected:
  static ObjectStore::Options few() {
    ObjectStore::Options options = options_for_test();
    options.max_objects = 2;
    options.max_holders = 2;
    return options;
  }
  FewStore() : StoreTest(few()) {}
};

TEST_F(FewStore, HasALimitOfObjects) {
  const Handle first = put(kAlice, "1");
  const Handle second = put(kAlice, "2");
  EXPECT_EQ(code_of(store.put(kAlice, {}, {}, kWait)), ErrorCode::resource_exhausted);
  const Located pinned = locate(kAlice, second);
  ASSERT_TRUE(store.evict(second));
  EXPECT_EQ(code_of(store.put(kAlice, {}, {}, kWait)), ErrorCode::resource_exhausted)
      << "what is pinned is still there";
  store.release(kAlice, pinned.pin);
  EXPECT_TRUE(store.put(kAlice, {}, {}, kWait));
  EXPECT_TRUE(store.exists(first));
}

TEST_F(FewStore, HasALimitOfHolders) {
  const Handle handle = put(kAlice, "1");
  EXPECT_EQ(read(kAlice, handle), "1");
  EXPECT_EQ(read(kBob, handle), "1");
  EXPECT_EQ(locate_error(kCarol, handle), ErrorCode::overload);
  EXPECT_EQ(code_of(store.put(kCarol, {.owned = true}, {}, kWait)), ErrorCode::overload);
  EXPECT_EQ(code_of(store.reserve(kCarol, 1, kWait)), ErrorCode::overload);
  clock.advance(5s);
  EXPECT_TRUE(store.renew(kAlice));
  pass(6s);
  EXPECT_EQ(read(kCarol, handle), "1") << "Bob was silent, and has left";
}

}  // namespace
}  // namespace godwit::ref
