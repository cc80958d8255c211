#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Ownership : public StoreTest {
 protected:
  static constexpr auto kRead = ObjectStore::BorrowKind::read;
  static constexpr auto kWrite = ObjectStore::BorrowKind::write;

  void die(Holder holder) {
    store.lost(holder.node);
    pass(ObjectStore::kLostGrace);
  }
};

TEST_F(Ownership, AnOwnedObjectEndsWithItsOwner) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  EXPECT_EQ(store.describe(handle)->owner, kAlice);
  die(kAlice);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST_F(Ownership, TheOwnerDropsItAndNobodyElseDoes) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const Status refused = store.drop(kBob, handle);
  ASSERT_EQ(code_of(refused), ErrorCode::permission);
  EXPECT_THAT(refused.error().message, HasSubstr("owner is 0000000000000001"));
  ASSERT_TRUE(store.drop(kAlice, handle));
  EXPECT_EQ(code_of(store.drop(kAlice, handle)), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Ownership, IsTakenOfWhatHasNoOwnerAndGivenUp) {
  const Handle handle = put(kAlice, "x");
  ASSERT_TRUE(store.own(kAlice, handle));
  ASSERT_TRUE(store.own(kAlice, handle));
  EXPECT_EQ(code_of(store.own(kBob, handle)), ErrorCode::permission);
  EXPECT_EQ(code_of(store.disown(kBob, handle)), ErrorCode::permission);
  ASSERT_TRUE(store.disown(kAlice, handle));
  EXPECT_EQ(code_of(store.drop(kAlice, handle)), ErrorCode::permission);
  die(kAlice);
  EXPECT_TRUE(store.exists(handle));
  ASSERT_TRUE(store.own(kBob, handle));
  die(kBob);
  expect_empty();
}

TEST_F(Ownership, IsHandedOverInTwoSteps) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t offer = store.offer(kAlice, handle, 5s).value();
  EXPECT_EQ(store.describe(handle)->owner, kAlice) << "until it is accepted";
  ASSERT_TRUE(store.accept(kBob, handle, offer));
  EXPECT_EQ(store.describe(handle)->owner, kBob);
  EXPECT_EQ(code_of(store.accept(kCarol, handle, offer)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.offer(kAlice, handle, 5s)), ErrorCode::permission);
  die(kAlice);
  EXPECT_TRUE(store.exists(handle));
  ASSERT_TRUE(store.drop(kBob, handle));
  expect_empty();
}

// Defect 6 of the nine.
TEST_F(Ownership, Defect6AnOfferThatNobodyAcceptsLapsesAndLeaksNothing) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t offer = store.offer(kAlice, handle, 5s).value();
  EXPECT_EQ(store.sweep(), clock.now() + 5s);
  clock.advance(5s);
  EXPECT_EQ(code_of(store.accept(kBob, handle, offer)), ErrorCode::not_found);
  EXPECT_EQ(store.describe(handle)->owner, kAlice);
  // Another, whose receiver never gets the bytes: it ends with the owner all the same.
  ASSERT_TRUE(store.offer(kAlice, handle, 1h));
  die(kAlice);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST_F(Ownership, ALaterOfferReplacesTheEarlierOne) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t first = store.offer(kAlice, handle, 5s).value();
  const std::uint64_t second = store.offer(kAlice, handle, 10s).value();
  EXPECT_EQ(code_of(store.accept(kBob, handle, first)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.accept(kBob, handle, 0)), ErrorCode::not_found);
  clock.advance(8s);
  store.renew(kAlice);
  EXPECT_TRUE(store.accept(kBob, handle, second));
}

TEST_F(Ownership, GivingItUpTakesTheOfferBack) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t offer = store.offer(kAlice, handle, 5s).value();
  ASSERT_TRUE(store.disown(kAlice, handle));
  EXPECT_EQ(code_of(store.accept(kBob, handle, offer)), ErrorCode::not_found);
}

TEST_F(Ownership, ManyReadersOrOneWriter) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t first = store.borrow(kBob, handle, kRead).value();
  const std::uint64_t second = store.borrow(kCarol, handle, kRead).value();
  EXPECT_EQ(store.describe(handle)->borrows, 2);
  const auto refused = store.borrow(kCarol, handle, kWrite);
  ASSERT_EQ(code_of(refused), ErrorCode::borrowed);
  EXPECT_THAT(refused.error().message, HasSubstr("0000000000000002 has borrowed it for reading"));
  store.give_back(kBob, second);
  store.give_back(kBob, first);
  EXPECT_EQ(store.describe(handle)->borrows, 1) << "a borrow is its holder's to give back";
  store.give_back(kCarol, second);
  store.give_back(kCarol, second);
  const std::uint64_t writer = store.borrow(kCarol, handle, kWrite).value();
  EXPECT_TRUE(store.describe(handle)->borrowed_for_writing);
  EXPECT_EQ(code_of(store.borrow(kBob, handle, kRead)), ErrorCode::borrowed);
  EXPECT_EQ(code_of(store.borrow(kCarol, handle, kWrite)), ErrorCode::borrowed);
  store.give_back(kCarol, writer);
  EXPECT_TRUE(store.borrow(kBob, handle, kRead));
}

TEST_F(Ownership, WhatIsBorrowedIsNotEvictedAndOutlivesItsOwner) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  const std::uint64_t borrow = store.borrow(kBob, handle, kRead).value();
  EXPECT_EQ(code_of(store.evict(handle)), ErrorCode::borrowed);
  ASSERT_TRUE(store.drop(kAlice, handle));
  EXPECT_EQ(read(kBob, handle), "x");
  EXPECT_EQ(code_of(store.borrow(kCarol, handle, kRead)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.own(kCarol, handle)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.drop(kAlice, handle)), ErrorCode::permission);
  store.give_back(kBob, borrow);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST_F(Ownership, WhatIsBorrowedOutlivesItsLease) {
  const Handle handle = put(kAlice, "x", {.lifetime = {.kind = LifetimeKind::lease, .lease = 1s}});
  const std::uint64_t borrow = store.borrow(kBob, handle, kRead).value();
  pass(2s);
  EXPECT_EQ(read(kBob, handle), "x");
  store.give_back(kBob, borrow);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

TEST_F(Ownership, ABorrowerThatDiesGivesBack) {
  const Handle handle = put(kAlice, "x");
  ASSERT_TRUE(store.borrow(kBob, handle, kWrite));
  die(kBob);
  EXPECT_TRUE(store.borrow(kCarol, handle, kWrite));
  die(kCarol);
  ASSERT_TRUE(store.evict(handle));
  expect_empty();
}

TEST_F(Ownership, TheLastBorrowerOfADeadOwnersObjectTakesItAlong) {
  const Handle handle = put(kAlice, "x", {.owned = true});
  ASSERT_TRUE(store.borrow(kBob, handle, kRead));
  die(kAlice);
  EXPECT_TRUE(store.exists(handle));
  die(kBob);
  EXPECT_FALSE(store.exists(handle));
  expect_empty();
}

}  // namespace
}  // namespace godwit::ref
