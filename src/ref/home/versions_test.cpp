#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using testing::HasSubstr;

class Versions : public StoreTest {
 protected:
  Handle update(Holder holder, const Handle& handle, std::string_view text) {
    return store.update(holder, handle, reserve(holder, text)).value();
  }
};

TEST_F(Versions, AnUpdateIsSeenByThoseWhoAskForIt) {
  const Handle first = put(kAlice, "one", {.type = 9});
  const Handle second = update(kBob, first, "second");
  EXPECT_EQ(second.object, first.object);
  EXPECT_EQ(second.version, 2);
  EXPECT_EQ(second.size, 6);
  EXPECT_EQ(second.type, 9);
  EXPECT_EQ(read(kAlice, second), "second");
  EXPECT_EQ(store.newest(first).value(), second);
  EXPECT_FALSE(store.exists(first));
  const auto stale = store.locate(kAlice, first, kWait);
  ASSERT_EQ(code_of(stale), ErrorCode::stale);
  EXPECT_THAT(stale.error().message, HasSubstr("the newest version is 2"));
  EXPECT_EQ(store.arena().use().extents, 1) << "nobody had the first one pinned";
}

// Defect 3 of the nine.
TEST_F(Versions, Defect3AReaderKeepsTheVersionItHasUntorn) {
  const Handle first = put(kAlice, "aaaaaaaa");
  const Located located = locate(kBob, first);
  Handle newest = first;
  for (int i = 0; i < 100; ++i) newest = update(kAlice, newest, std::string(8, 'b'));
  EXPECT_EQ(text_at(located), "aaaaaaaa");
  EXPECT_EQ(read(kCarol, first), "aaaaaaaa") << "as long as somebody has it";
  EXPECT_EQ(read(kCarol, newest), "bbbbbbbb");
  EXPECT_EQ(store.arena().use().extents, 2);
  store.release(kBob, located.pin);
  EXPECT_EQ(locate_error(kBob, first), ErrorCode::stale);
  EXPECT_EQ(store.arena().use().extents, 1);
}

TEST_F(Versions, OfTwoUpdatesOfOneVersionTheSecondIsStale) {
  const Handle first = put(kAlice, "one");
  update(kAlice, first, "two");
  const std::uint64_t ticket = reserve(kBob, "lost?");
  EXPECT_EQ(code_of(store.update(kBob, first, ticket)), ErrorCode::stale);
  const auto third = store.update(kBob, store.newest(first).value(), ticket);
  ASSERT_TRUE(third) << "the reservation has stayed: " << third.error().message;
  EXPECT_EQ(third->version, 3);
}

TEST_F(Versions, HandlesOfAnyVersionReachTheObject) {
  const Handle first = put(kAlice, "one");
  const Handle second = update(kAlice, first, "two");
  EXPECT_EQ(store.describe(first)->handle, second);
  ASSERT_TRUE(store.set_pinned(first, true));
  ASSERT_TRUE(store.own(kAlice, first));
  ASSERT_TRUE(store.evict(first));
  EXPECT_FALSE(store.exists(second));
  EXPECT_EQ(code_of(store.newest(first)), ErrorCode::not_found);
  expect_empty();
}

TEST_F(Versions, PinnedOnesAreLimited) {
  Handle newest = put(kAlice, "x");
  std::vector<Located> pinned;
  for (std::size_t i = 0; i < ObjectStore::kMaxOlderVersions; ++i) {
    pinned.push_back(locate(kBob, newest));
    newest = update(kAlice, newest, "x");
  }
  pinned.push_back(locate(kBob, newest));
  const std::uint64_t ticket = reserve(kAlice, "y");
  EXPECT_EQ(code_of(store.update(kAlice, newest, ticket)), ErrorCode::overload);
  store.release(kBob, pinned[7].pin);
  EXPECT_TRUE(store.update(kAlice, newest, ticket));
  ASSERT_TRUE(store.evict(newest));
  for (const Located& located : pinned) store.release(kBob, located.pin);
  expect_empty();
}

TEST_F(Versions, OnlyTheOwnerOrWhoBorrowedForWritingUpdatesWhatIsOwned) {
  const Handle first = put(kAlice, "one", {.owned = true});
  const std::uint64_t ticket = reserve(kBob, "two");
  EXPECT_EQ(code_of(store.update(kBob, first, ticket)), ErrorCode::permission);
  const auto reading = store.borrow(kBob, first, ObjectStore::BorrowKind::read);
  EXPECT_EQ(code_of(store.update(kBob, first, ticket)), ErrorCode::borrowed);
  const std::uint64_t mine = reserve(kAlice, "never");
  EXPECT_EQ(code_of(store.update(kAlice, first, mine)), ErrorCode::borrowed);
  store.give_back(kBob, *reading);
  const auto writing = store.borrow(kBob, first, ObjectStore::BorrowKind::write);
  EXPECT_EQ(code_of(store.update(kBob, first, ticket)), ErrorCode::borrowed) << "another hand";
  EXPECT_EQ(code_of(store.update({kBob, *reading}, first, ticket)), ErrorCode::borrowed);
  EXPECT_EQ(code_of(store.update({kAlice, *writing}, first, mine)), ErrorCode::borrowed);
  const Handle second = store.update({kBob, *writing}, first, ticket).value();
  EXPECT_EQ(code_of(store.update(kAlice, second, mine)), ErrorCode::borrowed);
  store.give_back(kBob, *writing);
  EXPECT_EQ(code_of(store.update({kAlice, *writing}, second, mine)), ErrorCode::not_found);
  EXPECT_EQ(read(kAlice, store.update(kAlice, second, mine).value()), "never");
}

// Its two hands are two writers.
TEST_F(Versions, AnOwnerWaitsForWhatItsOwnProcessHasBorrowed) {
  const Handle first = put(kAlice, "one", {.owned = true});
  const auto writing = store.borrow(kAlice, first, ObjectStore::BorrowKind::write);
  const std::uint64_t ticket = reserve(kAlice, "two");
  EXPECT_EQ(code_of(store.update(kAlice, first, ticket)), ErrorCode::borrowed);
  const Handle second = store.update({kAlice, *writing}, first, ticket).value();
  store.give_back(kAlice, *writing);
  EXPECT_EQ(update(kAlice, second, "three").version, second.version + 1);
}

}  // namespace
}  // namespace godwit::ref
