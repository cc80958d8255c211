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
    expect_error(owned.update(numbers(1)), ErrorCode::borrowed);
    expect_error(owned.ref().update(numbers(1)), ErrorCode::borrowed);
    good(writer.update(numbers(5)));
    good(writer.update(numbers(200'000)));
    expect_error(owned.update(numbers(1)), ErrorCode::borrowed);
    good(writer.update(numbers(5)));
    EXPECT_EQ(writer->size(), 5);
  }
  EXPECT_TRUE(eventually([&] { return owned.borrow().has_value(); }));
  EXPECT_EQ(owned->size(), 5);
}

TEST_P(Ownership, AnOwnerSeesWhatItsBorrowersWrote) {
  auto other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(100)));
  const Handle first = owned.ref().handle();
  std::size_t size = 1'000;
  const auto expect_newest_after = [&](const auto& borrow_mut) {
    // A borrow is given back by a message.
    const auto all_are_back = [&] {
      return eventually([&] { return good(owned.ref().status()).borrows == 0; });
    };
    const auto lend = [&] {
      EXPECT_TRUE(all_are_back());
      {
        auto writer = good(borrow_mut());
        good(writer.update(numbers(++size)));
      }
      EXPECT_TRUE(all_are_back());
    };
    EXPECT_GT(owned->size(), 0) << "it has resolved the version before";
    lend();
    EXPECT_EQ(owned->size(), size);
    lend();
    EXPECT_EQ((*owned).back(), size + 6);
    lend();
    EXPECT_EQ(good(owned.borrow())->size(), size);
    lend();
    EXPECT_EQ(good(owned.clone())->size(), size);
    lend();
    EXPECT_EQ((*owned.ref()).size(), size) << "what it gives to readers is not stale";
    lend();
    good(owned.update(numbers(++size)));
    EXPECT_EQ(owned->size(), size);
  };
  expect_newest_after([&] { return owned.borrow_mut(); });
  // Of another process, which has a handle of the first version only.
  const auto theirs = good(Ref<Numbers>::from(other, first));
  expect_newest_after([&] { return BorrowedMut<Numbers>::from(theirs); });
  EXPECT_EQ(good(Borrowed<Numbers>::from(theirs))->size(), size);
}

// That it has the newest its home says without being asked.
TEST_P(Ownership, AnOwnerOnItsHomesHostReadsAgainWithoutAQuestion) {
  for (int i = 0; i < 3; ++i) {  // from then on the home's word is looked at
    const auto before = good(fleet_.node(0).put(numbers(10)));
    EXPECT_EQ(good(good(Ref<Numbers>::from(fleet_, before.handle())).resolve())->size(), 10);
  }
  const auto taken = [&] {
    return status_of(fleet_, fleet_.node(0))["counters"]["calls_taken"].count();
  };
  constexpr int kReads = 500;
  for (const std::size_t size : {10, 100'000}) {
    const auto owned = good(Owned<Numbers>::put(fleet_.node(0), numbers(size)));
    EXPECT_EQ(owned->size(), size);
    const std::uint64_t before = taken();
    for (int i = 0; i < kReads; ++i) ASSERT_EQ(owned->size(), size);
    const std::uint64_t questions = taken() - before;
    if (shm()) {
      EXPECT_LT(questions, kReads / 10);
    } else {
      EXPECT_GE(questions, kReads);
    }
  }
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

TEST_P(Ownership, WhatNobodyOwnsCanBeTakenByOne) {
  auto other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  const auto ref = good(other.node(0).put(numbers(100)));
  {
    const auto owned = good(Owned<Numbers>::take(good(Ref<Numbers>::from(fleet_, ref.handle()))));
    EXPECT_EQ(owned->size(), 100);
    EXPECT_NE(good(ref.status()).owner, 0);
    expect_error(Owned<Numbers>::take(ref), ErrorCode::permission);
    expect_error(ref.update(numbers(1)), ErrorCode::permission);
  }
  EXPECT_TRUE(eventually([&] { return !good(ref.exists()); }));
  expect_error(Owned<Numbers>::take(ref), ErrorCode::not_found);
}

class Promises : public ObjectFleet {
 protected:
  // Of node 1.
  [[nodiscard]] std::uint64_t waiters() const {
    return status_of(fleet_, fleet_.node(1))["objects"]["waiters"].count();
  }
};

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

TEST_P(Promises, AnotherProcessMayTakeOneOver) {
  std::optional<Ref<Numbers>> kept;
  std::optional<Ref<Numbers>> broken;
  auto heir = good(Fleet::join(fleet_.describe().front().addresses.front()));
  {
    auto maker = good(Fleet::join(fleet_.describe().front().addresses.front()));
    for (auto* ref : {&kept, &broken}) {
      auto promise = good(Promise<Numbers>::make(maker.node(1)));
      const Handle handle = promise.hand_over().handle();
      *ref = good(Ref<Numbers>::from(fleet_, handle));
    }
    auto first = good(Promise<Numbers>::take_over(good(Ref<Numbers>::from(heir, kept->handle()))));
    {
      const auto second =
          good(Promise<Numbers>::take_over(good(Ref<Numbers>::from(heir, broken->handle()))));
    }
    expect_error(broken->wait(seconds(5)), ErrorCode::cancelled, "gave the promise up");
    static_cast<void>(good(first.set(numbers(10))));
  }
  EXPECT_EQ(good(kept->wait(seconds(5)))->size(), 10);
  expect_error(Promise<Numbers>::take_over(*kept), ErrorCode::already_exists);
}

TEST_P(Promises, ReadersAreToldOfNewVersions) {
  const auto first = good(fleet_.node(1).put(numbers(10)));
  std::thread reader([&, handle = first.handle()] {
    const auto mine = good(Ref<Numbers>::from(fleet_, handle));
    const auto next = good(mine.next_version(seconds(20)));
    EXPECT_EQ(next.handle().version, 2);
    EXPECT_EQ((*next).size(), 20);
  });
  EXPECT_TRUE(eventually([&] { return waiters() == 1; })) << "it waits before there is one";
  const auto second = good(first.update(numbers(20)));
  reader.join();
}

TEST_P(Promises, WhatFollowsRunsWhenItIsKept) {
  auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  const Ref<Numbers> ref = promise.ref();
  // It may use the Ref, which has the value by then.
  auto size = ref.wait_later(seconds(20)).then([ref](const Outcome<Pinned<Numbers>>& found) {
    return found && ref.is_resolved() && (*ref).data() == (**found).data() ? (*ref).size() : 0;
  });
  // More than a link has credits, and no thread for each.
  std::vector<Future<Pinned<Numbers>>> waiting;
  for (int i = 0; i < 1'000; ++i) {
    waiting.push_back(good(Ref<Numbers>::from(fleet_, ref.handle())).wait_later(seconds(20)));
  }
  auto all = when_all(std::move(waiting));
  EXPECT_FALSE(size.ready());
  EXPECT_FALSE(all.ready());
  const auto kept = good(promise.set(numbers(5'000)));
  EXPECT_EQ(value_of(size.get()), 5'000);
  const auto outcomes = value_of(all.get());
  EXPECT_EQ(outcomes.size(), 1'000);
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome) << to_string(outcome.error());
    ASSERT_EQ((*outcome)->back(), 5'006);
  }
  EXPECT_TRUE(ref.wait_later(seconds(1)).ready()) << "it has it";
}

TEST_P(Promises, WhatFollowsIsToldWhyItWasNotKept) {
  const auto expect = [](Future<Pinned<Numbers>> future, ErrorCode code, std::string_view why) {
    const auto told = std::move(future).get();
    ASSERT_FALSE(told);
    EXPECT_EQ(to_string(told.error().reason), to_string(code)) << told.error().message;
    EXPECT_NE(told.error().message.find(why), std::string::npos) << told.error().message;
    EXPECT_FALSE(told.error().may_have_started);
  };
  auto broken = good(Promise<Numbers>::make(fleet_.node(1)));
  const std::string name = broken.ref().handle().object.short_hex();
  auto told = broken.ref().wait_later(seconds(20));
  expect(broken.ref().wait_later(milliseconds(20)), ErrorCode::deadline, name);
  good(broken.fail(ErrorCode::app_error, "the model did not converge"));
  expect(std::move(told), ErrorCode::app_error, "did not converge");
  {
    const auto given_up = good(Promise<Numbers>::make(fleet_.node(1)));
    told = given_up.ref().wait_later(seconds(20));
  }
  expect(std::move(told), ErrorCode::cancelled, "gave the promise up");
  const NodeHandle home = fleet_.node(1);
  const auto orphan = good(Promise<Numbers>::make(home));
  told = orphan.ref().wait_later(seconds(20));
  good(fleet_.kill(home));
  expect(std::move(told), ErrorCode::node_lost, orphan.ref().handle().object.short_hex());
  good(fleet_.restart(home));
}

TEST_P(Promises, WhatFollowsRunsAtTheLatestWhenItsFleetEnds) {
  const auto promise = good(Promise<Numbers>::make(fleet_.node(1)));
  std::atomic<int> failed = 0;
  {
    auto other = good(Fleet::join(fleet_.describe().front().addresses.front()));
    const auto ref = good(Ref<Numbers>::from(other, promise.ref().handle()));
    const auto ended = ref.wait_later(seconds(60)).then([&](const auto& found) {
      if (!found) ++failed;
    });
    EXPECT_TRUE(eventually([&] { return waiters() == 1; }));
  }
  EXPECT_EQ(failed, 1);
  EXPECT_TRUE(eventually([&] { return waiters() == 0; }));
}

// One asks for all, so that an object for one reader is there for each of them.
TEST_P(Promises, CopiesOfARefThatWaitsAreNotHeldUp) {
  auto promise =
      good(Promise<Numbers>::make(fleet_.node(1), {.object = {.lifetime = Lifetime::readers(1)}}));
  const Ref<Numbers> ref = promise.ref();
  std::atomic<int> read = 0;
  std::vector<std::thread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&, copy = ref] {
      const auto found = copy.wait(seconds(20));
      if (found && (*found)->size() == 5'000) ++read;
    });
  }
  EXPECT_TRUE(eventually([&] { return waiters() == 1; }));
  EXPECT_FALSE(ref.is_resolved());
  ref.forget();
  expect_error(ref.resolve(), ErrorCode::would_block);
  expect_error(ref.wait(milliseconds(20)), ErrorCode::deadline, ref.handle().object.short_hex());
  EXPECT_EQ(read, 0);
  const auto kept = good(promise.set(numbers(5'000)));
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(read, 3);
}

INSTANTIATE_TEST_SUITE_P(Fleets, Ownership,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);
INSTANTIATE_TEST_SUITE_P(Fleets, Promises,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
