// What becomes of items that are not acked, and how topics and groups end, whoever the broker is.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/struct.hpp"
#include "node/stream_fleet_for_test.hpp"
#include "node/tape_for_test.hpp"
#include "ref/stream/broker.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;

// Of a program that takes its items for something they are not.
struct Valve {
  std::uint32_t number = 0;
  bool open = false;
};
GODWIT_STRUCT(Valve, number, open);

class StreamEnds : public StreamFleet {
 protected:
  // Sends all of them as if they were values of type T, and ends the topic.
  template <class T>
  void send_as(const std::vector<std::vector<std::byte>>& items) {
    auto out = good(
        detail::StreamProducer::open(home(), "topic", detail::ObjectCodec<T>::type_hash(), {}));
    for (const std::span<const std::byte> bytes : items) good(out.send({&bytes, 1}, {}));
    good(out.close());
  }
  template <class T>
  static std::vector<std::byte> encoded(const T& value) {
    const typename detail::ObjectCodec<T>::Encoded whole(value);
    return {whole.whole().begin(), whole.whole().end()};
  }
};

TEST_P(StreamEnds, AnItemThatIsNotOfItsTypeIsNamedAndTheNextOneComes) {
  using Table = std::map<std::string, std::vector<std::int64_t>>;
  const Table table{{"a", {1, 2}}, {"b", {}}};
  auto cut = encoded(table);
  cut.pop_back();
  auto longer = encoded(table);
  longer.push_back(std::byte{1});
  const std::vector<std::byte> garbage(40'000, std::byte{0xC1});  // which msgpack never uses
  send_as<Table>({encoded(table), garbage, cut, encoded(table), longer, encoded(table)});
  auto in = consumer<Table>();
  for (std::uint64_t offset = 0; offset < 6; ++offset) {
    auto item = in.next(10s);
    if (offset % 3 == 0 || offset == 5) {
      ASSERT_TRUE(item) << item.error().message;
      ASSERT_TRUE(*item);
      EXPECT_EQ((*item)->offset(), offset);
      EXPECT_EQ(***item, table);
      (*item)->ack();
    } else {
      expect_error(item, ErrorCode::bad_format,
                   "item " + std::to_string(offset) + ": its bytes are no map<str, list<i64>>");
    }
  }
  EXPECT_FALSE(good(in.next(10s))) << "nobody gets them again";
  expect_kept(0);
}

TEST_P(StreamEnds, AStructThatIsShortOrHoldsWhatItCannotIsNamed) {
  auto wrong = encoded(Valve{7, true});
  wrong[offsetof(Valve, open)] = std::byte{2};
  auto brief = encoded(Valve{7, true});
  brief.pop_back();
  send_as<Valve>({wrong, brief, {}, encoded(Valve{8, true})});
  auto in = consumer<Valve>();
  expect_error(in.next(10s), ErrorCode::bad_format, "a bool is neither 0 nor 1");
  expect_error(in.next(10s), ErrorCode::bad_format, "it has another size");
  expect_error(in.next(10s), ErrorCode::bad_format, "item 2");
  const auto item = good(in.next(10s));
  ASSERT_TRUE(item);
  EXPECT_EQ((*item)->number, 8);
}

TEST_P(StreamEnds, ASlowConsumerThatAcksKeepsItsLease) {
  auto out = producer<std::uint64_t>();
  for (std::uint64_t i = 0; i < 12; ++i) good(out.send(i));
  good(out.close());
  auto in = consumer<std::uint64_t>("all", {.lease = 1s});
  std::uint64_t next = 0;
  while (auto item = good(in.next(10s))) {
    EXPECT_EQ(**item, next++) << "none comes twice, although all of it takes longer than the lease";
    const auto done = std::chrono::steady_clock::now() + 150ms;  // the work
    while (std::chrono::steady_clock::now() < done) std::this_thread::yield();
    item->ack();
  }
  EXPECT_EQ(next, 12);
}

TEST_P(StreamEnds, WhatIsNotAckedInTimeComesAgainAndAnAckThatIsLateDoesNothing) {
  auto out = producer<std::uint64_t>({.linger = 0ns});
  good(out.send(std::uint64_t{1}));
  auto slow = consumer<std::uint64_t>("all", {.lease = 200ms, .fetch_ahead = false});
  auto quick = consumer<std::uint64_t>("all", {.lease = 200ms, .fetch_ahead = false});
  auto late = good(slow.next(10s));
  EXPECT_EQ(late->deliveries(), 1);
  const auto again = good(quick.next(10s));
  EXPECT_EQ(again->deliveries(), 2);
  late->ack();
  late.reset();  // the home is told
  EXPECT_GT(status().kept_bytes, 0) << "who acked had it no more";
}

TEST_P(StreamEnds, AGroupThatDoesNotLastEndsWithItsLastConsumerAndKeepsNothing) {
  auto out = producer<std::uint64_t>();
  auto lasting = consumer<std::uint64_t>("lasting");
  {
    auto one = consumer<std::uint64_t>("passing", {.lasting = false});
    auto two = consumer<std::uint64_t>("passing", {.lasting = false});
    for (std::uint64_t i = 0; i < 10; ++i) good(out.send(i));
    good(out.flush());
    for (std::uint64_t i = 0; i < 10; ++i) good(lasting.next(10s))->ack();
    {
      const auto dropped = std::move(one);
    }
    EXPECT_GT(status().kept_bytes, 0) << "the other one may read it";
  }
  expect_error(lasting.next(20ms), ErrorCode::deadline);
  expect_kept(0);
  EXPECT_EQ(status().groups.size(), 1);
}

TEST_P(StreamEnds, ABatchThatIsSentAgainIsNotAppendedAgain) {
  const auto out = good(home().core().produce("topic", 0, {}));
  const ref::stream::BatchView::Entry entry{5, 5};
  const Bytes bytes = bytes_of("hello");
  const ref::stream::PackedItems items{.entries = {&entry, 1}, .parts = {&bytes, 1}};
  for (const std::uint64_t sequence : {1, 1, 2, 2, 1}) good(out->append(sequence, items, 10s));
  EXPECT_EQ(status().end, 2);
}

TEST_P(StreamEnds, AnItemThatCannotBeEncodedIsNotSentAndTheStreamGoesOn) {
  constexpr std::string_view kWhy = "a value of type map<str, u64> cannot be encoded";
  auto out = producer<Tape>();
  good(out.send(Tape{.number = 1}));
  expect_error(out.send(kEndless), ErrorCode::too_large, kWhy);
  good(out.send(Tape{.number = 2}));
  out.combine(2, [](std::span<const Tape> tapes) {
    return Tape{.number = tapes[0].number + tapes[1].number,
                .endless = tapes[0].endless || tapes[1].endless};
  });
  good(out.send(kEndless));
  expect_error(out.send(Tape{.number = 10}), ErrorCode::too_large, kWhy);
  good(out.send(Tape{.number = 20}));
  good(out.send(Tape{.number = 30}));
  good(out.close());
  auto in = consumer<Tape>();
  for (const std::uint64_t number : {1, 2, 50}) {
    const auto item = good(in.next(10s));
    ASSERT_TRUE(item);
    EXPECT_EQ((*item)->number, number);
    item->ack();
  }
  EXPECT_FALSE(good(in.next(10s)));
}

TEST_P(StreamEnds, AnItemOfAnotherTypeBecomesOneOfTheTopics) {
  auto out = producer<double>();
  good(out.send(3));
  good(out.close());
  auto in = consumer<double>();
  EXPECT_EQ(**good(in.next(10s)), 3.0);
}

TEST_P(StreamEnds, AnEndThatWasMovedFromIsAnErrorAndItsItemsGoOn) {
  auto first = producer<std::uint64_t>();
  auto out = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move): the point
  expect_error(first.send(std::uint64_t{1}), ErrorCode::invalid_argument, "Producer was moved");
  expect_error(first.flush(), ErrorCode::invalid_argument);
  expect_error(first.close(), ErrorCode::invalid_argument);
  expect_error(first.abort(ErrorCode::io, "gone"), ErrorCode::invalid_argument);
  // NOLINTEND(bugprone-use-after-move)
  good(out.send(std::uint64_t{1}));
  good(out.send(std::uint64_t{2}));
  good(out.close());
  expect_error(out.send(std::uint64_t{3}), ErrorCode::shutting_down);

  auto before = consumer<std::uint64_t>();
  good(before.next(10s))->ack();
  auto in = std::move(before);
  // NOLINTBEGIN(bugprone-use-after-move): the point
  expect_error(before.next(10s), ErrorCode::invalid_argument, "Consumer was moved");
  expect_error(before.seek(StartAt::oldest()), ErrorCode::invalid_argument);
  // NOLINTEND(bugprone-use-after-move)
  const auto item = good(in.next(10s));
  ASSERT_TRUE(item);
  EXPECT_EQ(**item, 2) << "what it had fetched was moved with it";
  item->ack();
  EXPECT_FALSE(good(in.next(10s)));
}

TEST_P(StreamEnds, AProducerThatIsReplacedEndsThen) {
  auto in = consumer<std::uint64_t>();
  auto out = producer<std::uint64_t>({.sole = true, .linger = 1h});
  good(out.send(std::uint64_t{1}));
  auto other = good(Producer<std::uint64_t>::open(home(), "other"));
  out = std::move(other);
  good(in.next(10s))->ack();
  expect_error(in.next(10s), ErrorCode::node_lost, "producer");
}

TEST_P(StreamEnds, AnAbortIsWhatConsumersGetAfterTheLastItem) {
  auto out = producer<std::uint64_t>();
  good(out.send(std::uint64_t{1}));
  good(out.abort(ErrorCode::io, "the sensor fell off"));
  auto in = consumer<std::uint64_t>();
  good(in.next(10s))->ack();
  expect_error(in.next(10s), ErrorCode::io, "the sensor fell off");
}

TEST_P(StreamEnds, ASoleProducerThatLeavesIsAnError) {
  auto in = consumer<std::uint64_t>();
  {
    auto out = producer<std::uint64_t>({.sole = true});
    expect_error(Producer<std::uint64_t>::open(home(), "topic"), ErrorCode::already_exists);
    good(out.send(std::uint64_t{1}));
  }
  good(in.next(10s))->ack();
  expect_error(in.next(10s), ErrorCode::node_lost, "producer");
}

INSTANTIATE_TEST_SUITE_P(Brokers, StreamEnds, kEveryBroker, broker_name);

}  // namespace
}  // namespace godwit::node
