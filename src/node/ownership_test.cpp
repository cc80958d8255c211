// Who owns, borrows and promises objects, between processes.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Numbers = std::uint64_t[];

class Ownership : public ObjectFleet {};

TEST_P(Ownership, AnOwnedObjectEndsWithItsOwner) {
  Handle handle;
  {
    const auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100)));
    handle = owned.ref().handle();
    EXPECT_EQ(owned->size(), 100);
    EXPECT_EQ(good(owned.ref().status()).owner != 0, true);
  }
  const auto ref = good(Ref<Numbers>::from(fleet_, handle));
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }));
}

TEST_P(Ownership, ReadersOrOneWriter) {
  auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100)));
  {
    const auto first = good(owned.borrow());
    const auto second = good(owned.borrow());
    EXPECT_EQ(second->size(), 100);
    expect_error(owned.borrow_mut(), ErrorCode::borrowed);
    expect_error(owned.update(numbers(1)), ErrorCode::borrowed);
    expect_error(owned.ref().evict(), ErrorCode::borrowed);
  }
  EXPECT_TRUE(eventually([&] { return good(owned.ref().status()).borrows == 0; }));
  {
    auto writer = good(owned.borrow_mut());
    expect_error(owned.borrow(), ErrorCode::borrowed);
    good(writer.update(numbers(5)));
    EXPECT_EQ(writer->size(), 5);
  }
  EXPECT_TRUE(eventually([&] { return owned.borrow().has_value(); }));
  EXPECT_EQ((*good(owned.ref().latest())).size(), 5);
}

// Defects 7 and 8 of ProxyStore's: a reader can change what its owner sees.
TEST_P(Ownership, WhatIsBorrowedForReadingCannotBeChanged) {
  const auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100'000)));
  const auto borrowed = good(owned.borrow());
  static_assert(std::is_const_v<std::remove_reference_t<decltype((*borrowed)[0])>>);
  if (shm()) {
    const auto* first = &(*borrowed)[0];
    EXPECT_DEATH(*const_cast<std::uint64_t*>(first) = 1, "") << "the page is mapped for reading";
  }
}

TEST_P(Ownership, MovesInTwoSteps) {
  static_assert(!std::is_copy_constructible_v<Owned<Numbers>> &&
                !std::is_copy_constructible_v<Borrowed<Numbers>> &&
                !std::is_copy_constructible_v<BorrowedMut<Numbers>>);
  auto other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100)));
  // An offer whose bytes get lost loses nothing (defect 6 of ProxyStore's).
  const std::string lost = good(owned.offer(std::chrono::nanoseconds(1))).to_text();
  const OwnershipOffer late = good(OwnershipOffer::parse(lost));
  expect_error(Owned<Numbers>::accept(other, late), ErrorCode::not_found);
  EXPECT_EQ(good(owned.borrow())->size(), 100);

  const OwnershipOffer offer = good(OwnershipOffer::parse(good(owned.offer()).to_text()));
  {
    const auto taken = good(Owned<Numbers>::accept(other, offer));
    expect_error(Owned<Numbers>::accept(fleet_, offer), ErrorCode::not_found);
    {
      const auto former = std::move(owned);  // its end ends nothing any more
    }
    EXPECT_EQ(taken->size(), 100);
    EXPECT_TRUE(good(taken.ref().exists()));
  }
  const auto ref = good(Ref<Numbers>::from(fleet_, offer.handle));
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }));
}

TEST_P(Ownership, ACloneIsAnotherObject) {
  const auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100)));
  auto clone = good(owned.clone());
  EXPECT_FALSE(clone.ref().handle().object == owned.ref().handle().object);
  good(clone.update(numbers(3)));
  EXPECT_EQ(owned->size(), 100);
  const auto ref = good(clone.release());
  EXPECT_EQ((*ref).size(), 3);
  good(ref.evict());
}

class Promises : public ObjectFleet {};

TEST_P(Promises, ConsumersAreToldOfTheValue) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  const Ref<Numbers> ref = promise.ref();
  expect_error(ref.resolve(), ErrorCode::would_block);
  expect_error(ref.wait(milliseconds(50)), ErrorCode::deadline);
  std::vector<std::thread> consumers;
  std::atomic<int> read = 0;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&, handle = ref.handle()] {
      const auto mine = good(Ref<Numbers>::from(fleet_, handle));
      const auto found = mine.wait(seconds(20));
      if (found && (*found)->size() == 50'000) ++read;
    });
  }
  const auto kept = good(promise.set(numbers(50'000)));
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(read, 3);
  EXPECT_EQ(kept.handle().size, 400'000);
}

TEST_P(Promises, ConsumersAreToldOfTheError) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  const Ref<Numbers> ref = promise.ref();
  good(promise.fail(ErrorCode::app_error, "the model did not converge"));
  expect_error(ref.wait(seconds(5)), ErrorCode::app_error, "did not converge");
  expect_error(ref.resolve(), ErrorCode::app_error, "did not converge");
}

TEST_P(Promises, OneThatIsGivenUpIsBroken) {
  std::optional<Ref<Numbers>> ref;
  {
    const auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
    ref = promise.ref();
  }
  expect_error(ref->wait(seconds(5)), ErrorCode::cancelled);
}

TEST_P(Promises, TimeIsUpForOneThatTakesTooLong) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1), {.at_most = milliseconds(50)}));
  expect_error(promise.ref().wait(seconds(5)), ErrorCode::deadline);
  expect_error(promise.set(numbers(1)), ErrorCode::already_exists);
}

TEST_P(Promises, AConsumerMayCancel) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  good(cancel(promise.ref()));
  expect_error(promise.set(numbers(1)), ErrorCode::already_exists, "cancelled");
}

TEST_P(Promises, ReadersAreToldOfNewVersions) {
  const auto first = good(fleet_.node(1).put(numbers(10)));
  std::thread reader([&, handle = first.handle()] {
    const auto mine = good(Ref<Numbers>::from(fleet_, handle));
    const auto next = good(mine.next_version(seconds(20)));
    EXPECT_EQ(next.handle().version, 2);
    EXPECT_EQ((*next).size(), 20);
  });
  const auto second = good(first.update(numbers(20)));
  reader.join();
}

INSTANTIATE_TEST_SUITE_P(Fleets, Ownership,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);
INSTANTIATE_TEST_SUITE_P(Fleets, Promises,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
