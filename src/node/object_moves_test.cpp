// What is left of owners, borrowers and promises that are done or were moved from: an error, and
// never somebody else's object.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;

using Numbers = std::uint64_t[];

class EmptyHands : public ObjectFleet {
 protected:
  static void expect_over(Promise<Numbers>& promise) {
    expect_error(promise.set(numbers(1)), ErrorCode::already_exists, "kept, broken or handed over");
    expect_error(promise.fail(ErrorCode::app_error, "too late"), ErrorCode::already_exists);
  }
  static void expect_owns_nothing(Owned<Numbers>& owned) {
    constexpr auto kCode = ErrorCode::invalid_argument;
    expect_error(owned.resolve(), kCode, "this Owned owns nothing");
    expect_error(owned.borrow(), kCode);
    expect_error(owned.borrow_mut(), kCode);
    expect_error(owned.update(numbers(1)), kCode);
    expect_error(owned.clone(), kCode);
    expect_error(owned.offer(), kCode);
    expect_error(owned.release(), kCode);
    EXPECT_THROW(static_cast<void>(*owned), ResolveError);
    EXPECT_THROW(static_cast<void>(owned->size()), ResolveError);
  }
};

TEST_P(EmptyHands, APromiseIsKeptOrBrokenOnce) {
  auto kept = good(Promise<Numbers>::make(fleet_.node(1)));
  const Ref<Numbers> ref = kept.ref();
  static_cast<void>(good(kept.set(numbers(10))));
  expect_over(kept);
  EXPECT_EQ(good(ref.wait(seconds(20)))->size(), 10);

  auto broken = good(Promise<Numbers>::make(fleet_.node(1)));
  const Ref<Numbers> told = broken.ref();
  good(broken.fail(ErrorCode::app_error, "the model did not converge"));
  expect_over(broken);
  expect_error(told.wait(seconds(20)), ErrorCode::app_error, "did not converge");
}

TEST_P(EmptyHands, APromiseIsOverOnceItIsSomebodyElses) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  auto mine = std::move(promise);
  expect_over(promise);  // NOLINT(bugprone-use-after-move): the point
  const Ref<Numbers> ref = mine.hand_over();
  expect_over(mine);
  auto heir = good(Promise<Numbers>::take_over(ref));
  static_cast<void>(good(heir.set(numbers(10))));
  EXPECT_EQ(good(ref.wait(seconds(20)))->size(), 10);
}

TEST_P(EmptyHands, AnOwnerThatReleasedOwnsNothing) {
  auto owned = good(Owned<Numbers>::put(fleet_.node(1), numbers(10)));
  const Ref<Numbers> ref = good(owned.release());
  expect_owns_nothing(owned);
  EXPECT_EQ((*ref).size(), 10);
  owned = good(Owned<Numbers>::put(fleet_.node(1), numbers(20)));
  EXPECT_EQ(owned->size(), 20) << "another object may be given to it";
  EXPECT_TRUE(good(ref.exists()));
}

TEST_P(EmptyHands, AnOwnerThatWasMovedFromOwnsNothing) {
  auto owned = good(Owned<Numbers>::put(fleet_.node(1), numbers(10)));
  const auto owner = std::move(owned);
  expect_owns_nothing(owned);  // NOLINT(bugprone-use-after-move): the point
  EXPECT_EQ(owner->size(), 10);
}

TEST_P(EmptyHands, ABorrowEndsWithTheOneItWasMovedTo) {
  auto owned = good(Owned<Numbers>::put(fleet_.node(1), numbers(10)));
  const auto all_are_back = [&] {
    return eventually([&] { return good(owned.ref().status()).borrows == 0; });
  };
  auto reader = good(owned.borrow());
  {
    const auto mine = std::move(reader);
    // NOLINTNEXTLINE(bugprone-use-after-move): the point
    expect_error(reader.resolve(), ErrorCode::invalid_argument, "moved from");
    EXPECT_EQ(mine->size(), 10);
  }
  EXPECT_TRUE(all_are_back());

  auto writer = good(owned.borrow_mut());
  {
    auto mine = std::move(writer);
    good(mine.update(numbers(20)));
  }
  EXPECT_TRUE(all_are_back());
  // Nobody has borrowed it now, and an update without a borrow would be done.
  // NOLINTNEXTLINE(bugprone-use-after-move): the point
  expect_error(writer.update(numbers(30)), ErrorCode::invalid_argument, "moved from");
  EXPECT_EQ(owned->size(), 20);
}

INSTANTIATE_TEST_SUITE_P(Fleets, EmptyHands,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
