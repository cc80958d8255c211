// Groups and their consumers: leases, acks, deliveries again, filters, replay.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "ref/stream/gathering.hpp"
#include "ref/stream/stream_for_test.hpp"

namespace godwit::ref::stream {
namespace {

using namespace std::chrono_literals;

class GroupTest : public StreamTest {
 protected:
  GroupTest() : id(topic()), group(join(kBob, id)) { join(kCarol, id); }

  const TopicId id;
  const GroupKey group;
};

TEST_F(GroupTest, ConsumersOfAGroupShareItsItemsAndGroupsDoNot) {
  const GroupKey other = join(kCarol, id, "other");
  append(id, {"a", "b", "c"});
  EXPECT_EQ(texts_of(fetch(kBob, group, {.items = 2})), (Texts{"a", "b"}));
  EXPECT_EQ(texts_of(fetch(kCarol, group, {.items = 2})), (Texts{"c"}));
  EXPECT_EQ(fetch_error(kCarol, group), ErrorCode::would_block);
  EXPECT_EQ(texts_of(fetch(kCarol, other)), (Texts{"a", "b", "c"}));
}

TEST_F(GroupTest, ADeliveryGoesAcrossBatchesUpToItsLimits) {
  for (int i = 0; i < 4; ++i) append(id, {std::string(10, 'x'), std::string(10, 'y')});
  const Delivery some = fetch(kBob, group, {.items = 100, .bytes = 5 * 16 + 9});
  EXPECT_EQ(some.range, (OffsetRange{0, 5}));
  EXPECT_EQ(some.slices.size(), 3);
  EXPECT_EQ(fetch(kBob, group, {.items = 100, .bytes = 3}).range, (OffsetRange{5, 6}))
      << "one, however large";
  EXPECT_EQ(fetch(kBob, group, {.items = 1}).range, (OffsetRange{6, 7}));
  EXPECT_EQ(code_of(store.fetch(kBob, group, {.items = 0})), ErrorCode::invalid_argument);
}

TEST_F(GroupTest, OfSmallSlicesThatHaveToBeCopiedThereAreFew) {
  for (int i = 0; i < 4; ++i) append(id, {"a", "b"});
  append(id, {"c", "d", "e", "f", "g"});
  const FetchOptions copying{.items = 100, .bytes_copied = 6 * 16};
  EXPECT_EQ(fetch(kBob, group, copying).slices.size(), 3);
  const Delivery next = fetch(kBob, group, copying);
  EXPECT_EQ(next.range, (OffsetRange{6, 12})) << "a slice, and as much of another as fits";
  EXPECT_EQ(fetch(kBob, group, {.bytes_copied = 1}).range, (OffsetRange{12, 13}));
  append(id, {"h", "i", "j"});
  EXPECT_EQ(fetch(kBob, group, {.bytes_copied = 1}).range, (OffsetRange{13, 16}))
      << "one slice is as long as it is";
  for (int i = 0; i < 3; ++i) append(id, {std::string(20'000, 'x')});
  EXPECT_EQ(fetch(kBob, group, copying).slices.size(), 3) << "what is not small is not copied";
}

TEST_F(GroupTest, WhatIsNotAckedWhenTheLeaseEndsIsDeliveredAgainAndSaysSo) {
  append(id, {"a", "b", "c", "d"});
  const Delivery first = fetch(kBob, group, {.lease = 2s});
  EXPECT_EQ(ack(kBob, id, first, {1, 2}), 1);
  EXPECT_EQ(fetch_error(kCarol, group, {.waiter = 5}), ErrorCode::would_block);
  pass(2s);
  EXPECT_TRUE(called(5));
  const Delivery again = fetch(kCarol, group);
  EXPECT_EQ(texts_of(again), (Texts{"a", "c", "d"}));
  ASSERT_EQ(again.slices.size(), 2);
  EXPECT_EQ(again.slices[0].deliveries, 2);
  EXPECT_EQ(store.describe(group)->redelivered, 3);
  EXPECT_EQ(code_of(store.extend(kBob, id, first.lease, 1s)), ErrorCode::not_found);
}

TEST_F(GroupTest, ALeaseThatIsOverIsOverWithoutASweep) {
  append(id, {"a"});
  fetch(kBob, group, {.lease = 2s});
  clock.advance(2s);
  EXPECT_EQ(texts_of(fetch(kCarol, group)), (Texts{"a"}));
}

TEST_F(GroupTest, AnExtendedLeaseEndsLater) {
  append(id, {"a"});
  const Delivery delivery = fetch(kBob, group, {.lease = 2s});
  EXPECT_TRUE(store.extend(kBob, id, delivery.lease, 5s));
  pass(4s);
  EXPECT_EQ(fetch_error(kCarol, group), ErrorCode::would_block);
  pass(1s);
  EXPECT_EQ(fetch_error(kCarol, group), ErrorCode::none);
}

TEST_F(GroupTest, ALateAckCountsForWhatNobodyElseHas) {
  append(id, {"a", "b"});
  const Delivery late = fetch(kBob, group, {.lease = 1s});
  pass(1s);
  EXPECT_EQ(texts_of(fetch(kCarol, group, {.items = 1})), (Texts{"a"}));
  EXPECT_EQ(store.ack(kBob, id, late.lease, {}).value(), 1);
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::would_block);
  EXPECT_EQ(code_of(store.ack(kBob, id, late.lease, {})), ErrorCode::not_found);
}

TEST_F(GroupTest, MemoryStaysForAReaderWhoseLeaseLapsedUntilItIsDone) {
  append(id, {"a"});
  const Delivery slow = fetch(kBob, group, {.lease = 1s});
  pass(1s);
  read(kCarol, group);
  EXPECT_EQ(texts_of(slow), (Texts{"a"}));
  EXPECT_EQ(extents(), 1);
  EXPECT_EQ(store.ack(kBob, id, slow.lease, {}).value(), 0);
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, WhatWasCopiedNeedNotBeKeptForItsReader) {
  append(id, {"a"});
  const Delivery copied = fetch(kBob, group, {.lease = 1s});
  EXPECT_TRUE(store.done_reading(kBob, id, copied.lease));
  EXPECT_EQ(extents(), 1);
  pass(1s);
  read(kCarol, group);
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, WhatADeadConsumerHadIsDeliveredAgain) {
  append(id, {"a", "b"});
  const Delivery delivery = fetch(kBob, group);
  ack(kBob, id, delivery, {0, 1});
  clock.advance(ObjectStore::kHolderLease - 1s);
  EXPECT_TRUE(store.renew(kCarol));
  EXPECT_EQ(fetch_error(kCarol, group, {.waiter = 1}), ErrorCode::would_block);
  pass(1s);
  EXPECT_TRUE(called(1));
  EXPECT_EQ(read(kCarol, group), (Texts{"b"}));
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::permission) << "it has to join again";
  EXPECT_EQ(code_of(store.ack(kBob, id, delivery.lease, {})), ErrorCode::not_found);
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, WhatIsGivenBackIsDeliveredAtOnce) {
  append(id, {"a", "b"});
  const Delivery delivery = fetch(kBob, group);
  EXPECT_EQ(code_of(store.give_back(kCarol, id, delivery.lease)), ErrorCode::not_found);
  EXPECT_TRUE(store.give_back(kBob, id, delivery.lease));
  EXPECT_EQ(texts_of(fetch(kCarol, group)), (Texts{"a", "b"}));
}

TEST_F(GroupTest, AConsumerThatQuitsLeavesItsItemsToOthersAndTheLastOneMayEndTheGroup) {
  append(id, {"a"});
  fetch(kBob, group);
  EXPECT_TRUE(store.quit(kBob, group));
  EXPECT_EQ(code_of(store.quit(kBob, group)), ErrorCode::permission);
  EXPECT_EQ(read(kCarol, group), (Texts{"a"}));
  const GroupKey passing = join(kBob, id, "passing", {.lasting = false});
  append(id, {"b"});
  read(kCarol, group);
  EXPECT_EQ(extents(), 1);
  EXPECT_TRUE(store.quit(kBob, passing));
  EXPECT_EQ(code_of(store.describe(passing)), ErrorCode::not_found);
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, AGroupBeginsWhereItSays) {
  append(id, {"a", "b", "c"});
  const auto at = [](Position::Kind kind, std::uint64_t offset = 0) {
    return GroupOptions{.start = {kind, offset}};
  };
  const GroupKey end = join(kCarol, id, "end", at(Position::Kind::end));
  const GroupKey middle = join(kCarol, id, "middle", at(Position::Kind::offset, 1));
  EXPECT_EQ(fetch_error(kCarol, end), ErrorCode::would_block);
  EXPECT_EQ(read(kCarol, middle), (Texts{"b", "c"}));
  EXPECT_EQ(code_of(store.join(kBob, id, "beyond", at(Position::Kind::offset, 4))),
            ErrorCode::invalid_argument);
  append(id, {"d"});
  EXPECT_EQ(read(kCarol, end), (Texts{"d"}));
  read(kCarol, middle);
  read(kBob, group);
  EXPECT_EQ(code_of(store.seek(group, {Position::Kind::offset, 1})), ErrorCode::not_found);
}

TEST_F(GroupTest, AfterASeekAGroupReadsAgainAndEarlierLeasesCountNoMore) {
  const GroupKey keeper = join(kCarol, id, "keeper");
  append(id, {"a", "b"});
  append(id, {"c"});
  EXPECT_EQ(read(kBob, group, {.items = 2}), (Texts{"a", "b"}));
  const Delivery before = fetch(kBob, group);
  EXPECT_EQ(fetch_error(kCarol, group, {.waiter = 9}), ErrorCode::would_block);
  EXPECT_TRUE(store.seek(group, {Position::Kind::offset, 1}));
  EXPECT_TRUE(called(9));
  EXPECT_EQ(store.ack(kBob, id, before.lease, {}).value(), 0);
  EXPECT_EQ(read(kCarol, group), (Texts{"b", "c"}));
  EXPECT_EQ(extents(), 2) << "the keeper has not read";
  EXPECT_TRUE(store.seek(keeper, {Position::Kind::end}));
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, WhatAFilterLeavesOutCountsAsAcked) {
  const GroupKey keys = join(kCarol, id, "keys", {.filter = {.prefix = "k/"}});
  const GroupKey every = join(kCarol, id, "every", {.filter = {.one_in = 3}});
  append(id, {"a"}, "k/1");
  append(id, {"b"}, "other");
  append(id, {"c", "d"}, "k/2");
  append(id, {"e"}, "other");
  EXPECT_EQ(read(kBob, group).size(), 5);
  EXPECT_EQ(extents(), 4);
  const Delivery delivery = fetch(kCarol, keys);
  EXPECT_EQ(texts_of(delivery), (Texts{"a", "c", "d"}));
  EXPECT_EQ(read(kCarol, every), (Texts{"a", "d"}));
  EXPECT_EQ(ack(kCarol, id, delivery, {0, 1}), 1);
  EXPECT_EQ(extents(), 1);
  EXPECT_EQ(ack(kCarol, id, delivery, {3, 4}), 1);
  EXPECT_EQ(ack(kCarol, id, delivery, {2, 3}), 1);
  EXPECT_EQ(extents(), 0);
  EXPECT_EQ(store.describe(keys)->lag, 0);
  EXPECT_EQ(store.describe(keys)->filtered, 2);
  EXPECT_EQ(code_of(store.join(kBob, id, "keys", {})), ErrorCode::invalid_argument);
}

TEST_F(GroupTest, AFilterThatFindsNothingInManyItemsGoesThroughAllOfThem) {
  const GroupKey none = join(kCarol, id, "none", {.filter = {.equals = "nowhere"}});
  const Texts many(kMaxBatchItems / 2 + 1, "x");
  for (int i = 0; i < 3; ++i) append(id, many);
  EXPECT_TRUE(store.remove_group(group));
  ASSERT_GT(store.describe(id)->end, Gathering::kMaxScan);
  EXPECT_EQ(fetch_error(kCarol, none), ErrorCode::would_block);
  EXPECT_EQ(extents(), 0);
}

TEST_F(GroupTest, AWaiterIsCalledOnceWhenItemsCome) {
  EXPECT_EQ(fetch_error(kBob, group, {.waiter = 1}), ErrorCode::would_block);
  EXPECT_EQ(fetch_error(kBob, group, {.waiter = 2}), ErrorCode::would_block);
  store.stop_waiting(2);
  EXPECT_EQ(store.stats().waiters, 1);
  append(id, {"a"});
  append(id, {"b"});
  EXPECT_EQ(ready, (std::vector<std::uint64_t>{1}));
}

TEST_F(GroupTest, ALateGroupSkipsWhatOthersWereDoneWith) {
  append(id, {"a"});
  append(id, {"b"});
  append(id, {"c"});
  const Delivery slow = fetch(kBob, group, {.items = 1});
  EXPECT_EQ(read(kCarol, group, {.items = 1}), (Texts{"b"}));
  const GroupKey late = join(kCarol, id, "late");
  EXPECT_EQ(read(kCarol, late), (Texts{"a", "c"}));
  EXPECT_EQ(read(kCarol, group), (Texts{"c"}));
  EXPECT_TRUE(store.ack(kBob, id, slow.lease, {}));
  EXPECT_EQ(extents(), 0);
  EXPECT_TRUE(store.close(id));
  EXPECT_TRUE(fetch(kCarol, late).ended);
}

TEST_F(GroupTest, ALateGroupReachesTheEndWhereTheLastItemsAreGone) {
  append(id, {"a"});
  append(id, {"b"});
  const Delivery slow = fetch(kBob, group, {.items = 1});
  read(kCarol, group);
  const GroupKey late = join(kCarol, id, "late");
  EXPECT_EQ(read(kCarol, late, {.items = 1}), (Texts{"a"}));
  EXPECT_TRUE(store.ack(kBob, id, slow.lease, {}));
  EXPECT_EQ(fetch_error(kCarol, late), ErrorCode::would_block);
  EXPECT_EQ(store.describe(late)->lag, 0);
}

}  // namespace
}  // namespace godwit::ref::stream
