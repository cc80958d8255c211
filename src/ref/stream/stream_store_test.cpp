// Topics and producers: order, room, what is kept, and ends.
#include "ref/stream/stream_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ref/stream/stream_for_test.hpp"

namespace godwit::ref::stream {
namespace {

using namespace std::chrono_literals;

TEST_F(StreamTest, ItemsGetOffsetsInTheOrderOfTheirAppends) {
  const TopicId id = topic();
  EXPECT_EQ(append(id, {"a", "b"}), 0);
  EXPECT_EQ(append(id, {"c"}), 2);
  const GroupKey group = join(kBob, id);
  EXPECT_EQ(read(kBob, group), (Texts{"a", "b", "c"}));
  EXPECT_EQ(store.describe(id)->end, 3);
}

TEST_F(StreamTest, MemoryGoesBackWithTheLastAckOfTheLastGroup) {
  const TopicId id = topic({.groups_awaited = 2});
  const GroupKey first = join(kBob, id, "first");
  append(id, {"a", "b"});
  read(kBob, first);
  EXPECT_EQ(extents(), 1) << "a second group is awaited";
  const GroupKey second = join(kCarol, id, "second");
  const Delivery delivery = fetch(kCarol, second);
  EXPECT_EQ(ack(kCarol, id, delivery, {0, 1}), 1);
  EXPECT_EQ(extents(), 1);
  EXPECT_EQ(ack(kCarol, id, delivery, {1, 2}), 1);
  EXPECT_EQ(extents(), 0);
}

TEST_F(StreamTest, ABatchThatEverybodyAckedGoesAlthoughAnOlderOneIsLeased) {
  const TopicId id = topic();
  const GroupKey group = join(kBob, id);
  join(kCarol, id);
  append(id, {"a"});
  append(id, {"b"});
  const Delivery slow = fetch(kBob, group, {.items = 1});
  EXPECT_EQ(read(kCarol, group), (Texts{"b"}));
  EXPECT_EQ(extents(), 1);
  EXPECT_EQ(store.describe(group)->acked, 0);
  EXPECT_TRUE(store.ack(kBob, id, slow.lease, {}));
  EXPECT_EQ(extents(), 0);
  EXPECT_EQ(store.describe(group)->acked, 2);
}

TEST_F(StreamTest, WithoutAnyGroupItemsAreKeptForTheFirstUnlessNoneIsAwaited) {
  const TopicId kept = topic();
  append(kept, {"a"});
  EXPECT_EQ(extents(), 1);
  EXPECT_TRUE(store.remove(kept));
  EXPECT_EQ(extents(), 0);
  const TopicId dropped = topic({.groups_awaited = 0});
  append(dropped, {"a"});
  EXPECT_EQ(extents(), 0);
  const GroupKey group = join(kBob, dropped);
  EXPECT_EQ(append(dropped, {"b"}), 1);
  EXPECT_EQ(read(kBob, group), (Texts{"b"}));
}

TEST_F(StreamTest, TheFirstOptionsThatSomebodyGivesCount) {
  const TopicId id = store.open("numbers", std::nullopt).value();
  EXPECT_EQ(store.open("numbers", TopicOptions{.max_bytes = 100}).value(), id);
  EXPECT_EQ(store.open("numbers", TopicOptions{.max_bytes = 1'000}).value(), id);
  EXPECT_TRUE(store.produce(kAlice, id, ProducerKind::one_of_many));
  EXPECT_EQ(code_of(try_append(id, {std::string(200, 'x')})), ErrorCode::too_large);
}

TEST_F(StreamTest, AFullTopicCallsItsProducerWhenThereIsRoom) {
  const TopicId id = topic({.max_bytes = 250});
  const GroupKey group = join(kBob, id);
  append(id, {std::string(100, 'a')});
  append(id, {std::string(100, 'b')});
  Batch batch = batch_of(arena, {std::string(100, 'c')});
  EXPECT_EQ(code_of(store.append(kAlice, id, batch, {.waiter = 7})), ErrorCode::would_block);
  EXPECT_TRUE(batch) << "it stays the producer's";
  EXPECT_EQ(code_of(store.append(kAlice, id, batch, {.waiter = 7})), ErrorCode::already_exists);
  EXPECT_FALSE(called(7));
  read(kBob, group, {.items = 1});
  EXPECT_TRUE(called(7));
  EXPECT_EQ(store.append(kAlice, id, batch, {.waiter = 7}).value(), 2);
  EXPECT_FALSE(batch);
  EXPECT_EQ(code_of(store.append(kAlice, id, batch, {})), ErrorCode::invalid_argument);
  EXPECT_EQ(store.describe(id)->refused, 2);
}

TEST_F(StreamTest, ARepeatedAppendIsNotAppendedAgain) {
  const TopicId id = topic();
  EXPECT_EQ(try_append(id, {"a", "b"}, {.sequence = 1}).value(), 0);
  EXPECT_EQ(try_append(id, {"c"}, {.sequence = 2}).value(), 2);
  EXPECT_EQ(try_append(id, {"c"}, {.sequence = 2}).value(), 2);
  EXPECT_EQ(store.describe(id)->end, 3);
}

TEST_F(StreamTest, TheLastItemsAreKeptForReplayAndGiveWayToNewOnes) {
  const TopicId id = topic({.max_bytes = 400, .replay = {.items = 2}});
  const GroupKey group = join(kBob, id);
  for (const char* text : {"a", "b", "c"}) append(id, {text});
  EXPECT_EQ(read(kBob, group), (Texts{"a", "b", "c"}));
  EXPECT_EQ(store.describe(id)->oldest, 1);
  const GroupKey late = join(kCarol, id, "late");
  EXPECT_EQ(read(kCarol, late), (Texts{"b", "c"}));
  append(id, {std::string(380, 'd')});
  EXPECT_EQ(store.describe(id)->oldest, 3) << "two small ones would not have fitted beside it";
}

TEST_F(StreamTest, BytesAreKeptForReplay) {
  const TopicId id = topic({.replay = {.bytes = 300}});
  const GroupKey group = join(kBob, id);
  for (int i = 0; i < 10; ++i) append(id, {std::string(84, 'x')});  // 100 with the index
  read(kBob, group);
  EXPECT_EQ(store.describe(id)->kept_bytes, 300);
}

TEST_F(StreamTest, ItemsAreKeptForReplayUntilTheirTimeIsOver) {
  const TopicId id = topic({.replay = {.time = 5s}});
  const GroupKey group = join(kBob, id);
  append(id, {"a"});
  pass(2s);
  append(id, {"b"});
  read(kBob, group);
  EXPECT_EQ(extents(), 2);
  EXPECT_EQ(store.sweep(), clock.now() + 3s);
  pass(3s);
  EXPECT_EQ(extents(), 1);
  clock.advance(2s);
  EXPECT_EQ(code_of(store.join(kCarol, id, "late", {.start = {Position::Kind::offset, 1}})),
            ErrorCode::not_found)
      << "nobody is given what is over, swept or not";
}

TEST_F(StreamTest, TheEndReachesEveryConsumerOfEveryGroupAfterTheLastItem) {
  const TopicId id = topic();
  const GroupKey first = join(kBob, id, "first");
  const GroupKey second = join(kBob, id, "second");
  join(kCarol, id, "second");
  append(id, {"a"});
  EXPECT_TRUE(store.close(id));
  EXPECT_EQ(code_of(try_append(id, {"b"})), ErrorCode::shutting_down);
  EXPECT_EQ(read(kBob, first), (Texts{"a"}));
  EXPECT_TRUE(fetch(kBob, first).ended);
  const Delivery last = fetch(kBob, second);
  EXPECT_TRUE(fetch(kBob, second).ended) << "what is not acked is its own";
  EXPECT_EQ(fetch_error(kCarol, second, {.waiter = 3}), ErrorCode::would_block)
      << "Bob may die, and then the item is hers";
  EXPECT_TRUE(store.ack(kBob, id, last.lease, {}));
  EXPECT_TRUE(called(3));
  EXPECT_TRUE(fetch(kCarol, second).ended);
  EXPECT_TRUE(fetch(kBob, first).ended) << "as often as it asks";
  EXPECT_EQ(extents(), 0);
}

TEST_F(StreamTest, AnEndedTopicIsForgottenSomeTimeAfterItsLastItem) {
  const TopicId id = topic();
  const GroupKey group = join(kBob, id);
  append(id, {"a"});
  EXPECT_TRUE(store.close(id));
  pass(StreamStore::kEndedKept);
  EXPECT_TRUE(store.describe(id)) << "its item was not read";
  store.join(kBob, id, "all", {}).value();
  EXPECT_EQ(read(kBob, group), (Texts{"a"}));
  clock.advance(StreamStore::kEndedKept);
  EXPECT_NE(store.open("numbers", std::nullopt).value(), id) << "swept or not";
  EXPECT_EQ(code_of(store.describe(id)), ErrorCode::not_found);
}

TEST_F(StreamTest, AnAbortReachesThemAfterTheLastItem) {
  const TopicId id = topic({.max_bytes = 100});
  const GroupKey group = join(kBob, id);
  append(id, {std::string(80, 'a')});
  EXPECT_EQ(code_of(try_append(id, {"bcdef"}, {.waiter = 1})), ErrorCode::would_block);
  EXPECT_TRUE(store.close(id, Error{ErrorCode::app_error, "the disk is on fire"}));
  EXPECT_TRUE(called(1));
  EXPECT_TRUE(store.close(id)) << "changes nothing";
  EXPECT_EQ(read(kBob, group).size(), 1);
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::app_error);
  EXPECT_EQ(code_of(try_append(id, {"b"})), ErrorCode::app_error);
}

TEST_F(StreamTest, ATopicWhoseOnlyProducerDiesEndsWithAnErrorAfterWhatItAppended) {
  const TopicId id = topic({}, ProducerKind::sole);
  const GroupKey group = join(kBob, id);
  EXPECT_EQ(code_of(store.produce(kCarol, id, ProducerKind::one_of_many)),
            ErrorCode::already_exists);
  append(id, {"a"});
  EXPECT_EQ(read(kBob, group), (Texts{"a"}));
  EXPECT_EQ(fetch_error(kBob, group, {.waiter = 1}), ErrorCode::would_block);
  clock.advance(ObjectStore::kHolderLease - 1s);
  EXPECT_TRUE(store.renew(kBob));
  pass(1s);
  EXPECT_TRUE(called(1));
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::node_lost);
  EXPECT_EQ(code_of(try_append(id, {"b"})), ErrorCode::node_lost);
}

TEST_F(StreamTest, ATopicOfManyOutlivesItsProducers) {
  const TopicId id = topic();
  EXPECT_TRUE(store.produce(kCarol, id, ProducerKind::one_of_many));
  EXPECT_EQ(code_of(store.produce(kBob, id, ProducerKind::sole)), ErrorCode::already_exists);
  const GroupKey group = join(kBob, id);
  store.leave(kAlice);
  EXPECT_EQ(code_of(try_append(id, {"b"})), ErrorCode::permission);
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::would_block);
  EXPECT_EQ(store.describe(id)->producers, 1);
}

TEST_F(StreamTest, ALaterProcessOfANodeEndsWhatTheEarlierOneHad) {
  const TopicId id = topic({}, ProducerKind::sole);
  const TopicId other = store.open("others", std::nullopt).value();
  const Holder later{kAlice.node, {kAlice.epoch.value + 1}};
  EXPECT_TRUE(store.join(later, other, "all", {}));
  EXPECT_EQ(store.describe(id)->error->code, ErrorCode::node_lost);
}

TEST_F(StreamTest, ARemovedTopicKeepsWhatIsBeingRead) {
  const TopicId id = topic();
  const GroupKey group = join(kBob, id);
  append(id, {"a"});
  append(id, {"b"});
  const Delivery delivery = fetch(kBob, group, {.items = 1});
  EXPECT_EQ(fetch_error(kBob, group, {.items = 1}), ErrorCode::none);
  EXPECT_TRUE(store.remove(id));
  EXPECT_EQ(texts_of(delivery), (Texts{"a"}));
  EXPECT_EQ(code_of(store.find("numbers")), ErrorCode::not_found);
  EXPECT_EQ(fetch_error(kBob, group), ErrorCode::not_found);
  EXPECT_TRUE(store.ack(kBob, id, delivery.lease, {}));
  EXPECT_EQ(extents(), 1);
  store.leave(kBob);
  EXPECT_EQ(extents(), 0);
  EXPECT_EQ(store.stats().topics, 0);
}

TEST_F(StreamTest, AHomeThatEndsGivesItsMemoryBack) {
  {
    StreamStore other(clock, arena, {.home = kHome});
    const TopicId id = other.open("x", std::nullopt).value();
    EXPECT_TRUE(other.produce(kAlice, id, ProducerKind::sole));
    Batch batch = batch_of(arena, {"a"});
    EXPECT_TRUE(other.append(kAlice, id, batch, {}));
    EXPECT_EQ(extents(), 1);
  }
  EXPECT_EQ(extents(), 0);
}

TEST_F(StreamTest, LimitsAreNamed) {
  EXPECT_EQ(code_of(store.open("", std::nullopt)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.open(std::string(StreamStore::kMaxName + 1, 'n'), std::nullopt)),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.open("n", TopicOptions{.max_bytes = 0})), ErrorCode::invalid_argument);
  StreamStore small(clock, arena, {.home = kHome, .max_topics = 1});
  EXPECT_TRUE(small.open("a", std::nullopt));
  EXPECT_EQ(code_of(small.open("b", std::nullopt)), ErrorCode::overload);
  const TopicId id = topic();
  for (std::size_t i = 0; i < StreamStore::kMaxGroups; ++i) join(kBob, id, std::to_string(i));
  EXPECT_EQ(code_of(store.join(kBob, id, "more", {})), ErrorCode::overload);
}

}  // namespace
}  // namespace godwit::ref::stream
