// Values on their way to becoming objects: those that cannot, and those of another type.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "node/object_for_test.hpp"
#include "node/tape_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;

class Encoding : public ObjectFleet {
 protected:
  template <class R>
  static void expect_not_encoded(const R& result) {
    expect_error(result, ErrorCode::too_large, "a value of type map<str, u64> cannot be encoded");
  }
  // Of node 1.
  [[nodiscard]] std::size_t objects() const {
    return good(detail::ObjectDoor(fleet_.objects()).list(fleet_.node(1).id(), 100)).size();
  }
};

TEST_P(Encoding, AValueThatMsgpackCannotCountIsNotPut) {
  expect_not_encoded(fleet_.node(1).put(kEndless));
  expect_not_encoded(Owned<Tape>::put(fleet_.node(1), kEndless));
  EXPECT_EQ(objects(), 0);
  EXPECT_EQ(good(fleet_.node(1).put(Tape{.number = 7}))->number, 7);
}

TEST_P(Encoding, OfABatchOnlyThatOneIsNotPut) {
  const std::array<Tape, 4> tapes{Tape{.number = 1}, kEndless, Tape{.number = 3}, kEndless};
  const auto refs = fleet_.node(1).put_batch<Tape>(tapes);
  ASSERT_EQ(refs.size(), tapes.size());
  EXPECT_EQ(good(refs[0])->number, 1);
  expect_not_encoded(refs[1]);
  EXPECT_EQ(good(refs[2])->number, 3);
  expect_not_encoded(refs[3]);
  EXPECT_EQ(objects(), 2);

  const auto none = fleet_.node(1).put_batch<Tape>(std::span(&kEndless, 1));
  ASSERT_EQ(none.size(), 1);
  expect_not_encoded(none.front());
}

TEST_P(Encoding, AnUpdateToItLeavesTheVersionThatIsThere) {
  const auto ref = good(fleet_.node(1).put(Tape{.number = 7}));
  expect_not_encoded(ref.update(kEndless));
  EXPECT_EQ(good(ref.latest()), ref);
  EXPECT_EQ(ref->number, 7);

  auto owned = good(Owned<Tape>::put(fleet_.node(1), Tape{.number = 8}));
  expect_not_encoded(owned.update(kEndless));
  EXPECT_EQ(owned->number, 8);
  {
    auto writer = good(owned.borrow_mut());
    expect_not_encoded(writer.update(kEndless));
    EXPECT_EQ(writer->number, 8);
    good(writer.update(Tape{.number = 9}));
  }
  EXPECT_EQ(owned->number, 9);
}

TEST_P(Encoding, APromiseThatItWasToKeepIsStillPending) {
  auto promise = good(Promise<Tape>::make(fleet_.node(1)));
  const Ref<Tape> ref = promise.ref();
  expect_not_encoded(promise.set(kEndless));
  expect_error(ref.resolve(), ErrorCode::would_block);
  static_cast<void>(good(promise.set(Tape{.number = 7})));
  EXPECT_EQ(good(ref.wait(seconds(20)))->number, 7);

  auto other = good(Promise<Tape>::make(fleet_.node(1)));
  const Ref<Tape> broken = other.ref();
  expect_not_encoded(other.set(kEndless));
  good(other.fail(ErrorCode::app_error, "the tape has no end"));
  expect_error(broken.wait(seconds(20)), ErrorCode::app_error, "no end");
}

// Plain values are not copied before they are sent, but what an argument is converted to must be
// there for as long.
TEST_P(Encoding, AnArgumentOfAnotherTypeBecomesOneOfTheObjects) {
  const auto ref = good(fleet_.node(1).put(0.5));
  EXPECT_EQ(*good(ref.update(3)), 3.0);
  auto owned = good(Owned<double>::put(fleet_.node(1), 4));
  EXPECT_EQ(*owned, 4.0);
  good(owned.update(5));
  EXPECT_EQ(*owned, 5.0);
  auto promise = good(Promise<double>::make(fleet_.node(1)));
  EXPECT_EQ(*good(promise.set(6)), 6.0);
}

INSTANTIATE_TEST_SUITE_P(Fleets, Encoding,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
