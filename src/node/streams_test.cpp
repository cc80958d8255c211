// What holds for streams, whoever the broker is.
#include "godwit/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "godwit/ref.hpp"
#include "godwit/struct.hpp"
#include "node/stream_fleet_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;

struct Reading {
  std::uint64_t sensor = 0;
  double value = 0;
};
GODWIT_STRUCT(Reading, sensor, value);

TEST_P(StreamFleet, ItemsArriveInOrderWithTheirKeysAndThenTheEnd) {
  auto out = producer<Reading>();
  auto in = consumer<Reading>();
  for (std::uint64_t i = 0; i < 2500; ++i) {
    good(out.send(Reading{i, 0.5}, "sensor/" + std::to_string(i % 7)));
  }
  good(out.close());
  std::uint64_t next = 0;
  while (auto item = good(in.next(10s))) {
    ASSERT_EQ(item->offset(), next);
    EXPECT_EQ((*item)->sensor, next);
    EXPECT_EQ(item->key(), "sensor/" + std::to_string(next % 7));
    EXPECT_EQ(item->deliveries(), 1);
    item->ack();
    ++next;
  }
  EXPECT_EQ(next, 2500);
  expect_error(out.send(Reading{}), ErrorCode::shutting_down);
}

TEST_P(StreamFleet, MemoryGoesBackWhenTheLastGroupHasAcked) {
  auto out = producer<std::uint64_t[]>();
  auto first = consumer<std::uint64_t[]>("first");
  auto second = consumer<std::uint64_t[]>("second");
  const auto big = numbers(100'000);
  for (int i = 0; i < 3; ++i) good(out.send(big));
  good(out.flush());
  for (auto* in : {&first, &second}) {
    EXPECT_GE(status().kept_bytes, 3 * 800'000);
    for (int i = 0; i < 3; ++i) {
      auto item = good(in->next(10s));
      ASSERT_TRUE(item);
      EXPECT_TRUE(std::ranges::equal(**item, big));
      item->ack();
    }
  }
  good(out.close());
  EXPECT_FALSE(good(first.next(10s)));
  EXPECT_FALSE(good(second.next(10s)));
  expect_kept(0);
}

TEST_P(StreamFleet, SmallAndLargeItemsOfOneDeliveryKeepTheirBytesAndTheirOrder) {
  // All are there before the first is fetched; batches are of a few kilobytes, or one item.
  auto out = producer<std::string>({.batch_bytes = 8 << 10});
  auto in = consumer<std::string>();
  const auto nth = [](std::size_t i) {
    constexpr std::size_t kSizes[] = {10, 20'000, 300'001, 100, 17'003, 5'000, 1'200'000};
    return std::string(kSizes[i % std::size(kSizes)] + i, static_cast<char>('a' + i % 26));
  };
  for (std::size_t i = 0; i < 28; ++i) good(out.send(nth(i), std::to_string(i)));
  good(out.close());
  std::size_t next = 0;
  while (auto item = good(in.next(10s))) {
    ASSERT_EQ(item->offset(), next);
    EXPECT_EQ(**item, nth(next)) << next;
    EXPECT_EQ(item->key(), std::to_string(next));
    item->ack();
    ++next;
  }
  EXPECT_EQ(next, 28);
  expect_kept(0);
}

TEST_P(StreamFleet, TextAndOtherTypesTravelToo) {
  auto out = producer<std::string>({.linger = 0ns});
  auto in = consumer<std::string>();
  for (const char* text : {"one", "", "three"}) good(out.send(std::string(text)));
  for (const char* text : {"one", "", "three"}) {
    const auto item = good(in.next(10s));
    ASSERT_TRUE(item);
    EXPECT_EQ(**item, text);
    item->ack();
  }
  expect_error(Consumer<Reading>::join(home(), "topic", "others"), ErrorCode::type_mismatch,
               "another type");
}

TEST_P(StreamFleet, AHandleIsAnItemThatNobodyHasToResolve) {
  const auto object = good(fleet_.node(1).put(numbers(50'000)));
  auto out = producer<std::string>();
  good(out.send(object.handle().to_text()));
  good(out.close());
  auto in = consumer<std::string>();
  const auto item = good(in.next(10s));
  ASSERT_TRUE(item);
  const auto there = good(Ref<std::uint64_t[]>::parse(fleet_, **item));
  EXPECT_EQ((*there)[49'999], 50'006);
}

TEST_P(StreamFleet, ConsumersOfAGroupShareAndEveryItemIsSeenOnce) {
  constexpr std::uint64_t kItems = 20'000;
  std::vector<std::atomic<int>> seen(kItems);
  const auto consume = [&] {
    auto in = consumer<std::uint64_t>("workers", {.items = 100});
    while (auto item = good(in.next(20s))) {
      ++seen[**item];
      item->ack();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(consume);
  {
    auto out = producer<std::uint64_t>({.batch_items = 64});
    for (std::uint64_t i = 0; i < kItems; ++i) good(out.send(i));
    good(out.close());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
}

TEST_P(StreamFleet, SeveralProducersOfOneProcessAreSeveral) {
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < 3; ++who) {
    threads.emplace_back([&, who] {
      auto out = producer<Reading>({.batch_items = 50});
      for (std::uint64_t i = 0; i < 1000; ++i) {
        good(out.send(Reading{who, static_cast<double>(i)}));
      }
      good(out.flush());
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto in = consumer<Reading>();
  std::map<std::uint64_t, double> next;
  for (int i = 0; i < 3000; ++i) {
    const auto item = good(in.next(10s));
    ASSERT_TRUE(item);
    EXPECT_EQ((*item)->value, next[(*item)->sensor]++) << "each producer's items stay in order";
    item->ack();
  }
}

TEST_P(StreamFleet, FiltersRunAtTheHomeAndAtBothEnds) {
  auto out = producer<Reading>();
  out.only_if([](const Reading& reading) { return reading.value >= 0; });
  for (std::uint64_t i = 0; i < 100; ++i) {
    good(out.send(Reading{i, i % 10 == 3 ? -1.0 : 1.0}, i % 2 == 0 ? "even" : "odd"));
  }
  good(out.close());
  auto in = consumer<Reading>("odd", {.filter = {.key_prefix = "od"}});
  in.only_if([](const Received<Reading>& item) { return item->sensor < 50; });
  std::vector<std::uint64_t> seen;
  while (auto item = good(in.next(10s))) {
    seen.push_back((*item)->sensor);
    item->ack();
  }
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 1; i < 50; i += 2) {
    if (i % 10 != 3) expected.push_back(i);
  }
  EXPECT_EQ(seen, expected);
  const TopicStatus topic = status();
  EXPECT_EQ(topic.end, 90) << "what the producer's filter refused was not sent";
  ASSERT_EQ(topic.groups.size(), 1);
  EXPECT_EQ(topic.groups[0].delivered, 40) << "what the home's filter refused did not travel";
}

// A full topic of items that a consumer's filter refuses: its question makes room for the producer,
// and waits for what that sends then.
TEST_P(StreamFleet, WhoMakesRoomByRefusingItemsGetsTheNextOne) {
  constexpr int kRounds = 20;
  constexpr int kRefused = 12;
  const std::string much(100'000, 'x');
  auto out = producer<std::string>(
      {.topic = TopicOptions{.max_bytes = 1'000'000}, .batch_items = 1, .linger = 0ns});
  auto in = consumer<std::string>("some", {.filter = {.key = "yes"}, .fetch_ahead = false});
  std::thread sender([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kRefused; ++i) good(out.send(much, "no"));
      good(out.send(std::to_string(round), "yes"));
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(eventually([&] { return status().kept_bytes > 800'000; }));
    const auto item = in.next(20s);
    EXPECT_TRUE(item && *item) << "round " << round;
    if (!item || !*item) break;
    EXPECT_EQ(***item, std::to_string(round));
    (*item)->ack();
  }
  sender.join();
}

TEST_P(StreamFleet, ManyBecomeOneWhereTheProducerCombines) {
  auto out = producer<double>();
  out.combine(4, [](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  });
  for (int i = 1; i <= 10; ++i) good(out.send(static_cast<double>(i)));
  good(out.close());
  auto in = consumer<double>();
  std::vector<double> seen;
  while (auto item = good(in.next(10s))) {
    seen.push_back(**item);
    item->ack();
  }
  EXPECT_EQ(seen, (std::vector<double>{10, 26, 19}));
}

TEST_P(StreamFleet, AGroupGoesBackToAnOffsetThatIsKept) {
  auto out = producer<std::uint64_t>(
      {.topic = TopicOptions{.replay = {.items = 1000}}, .batch_items = 10});
  for (std::uint64_t i = 0; i < 500; ++i) good(out.send(i));
  good(out.flush());
  auto in = consumer<std::uint64_t>();
  for (std::uint64_t i = 0; i < 500; ++i) good(in.next(10s))->ack();
  good(in.seek(StartAt::offset(123)));
  for (std::uint64_t i = 123; i < 500; ++i) {
    const auto item = good(in.next(10s));
    ASSERT_EQ(**item, i);
    item->ack();
  }
  auto late = consumer<std::uint64_t>("late", {.start = StartAt::offset(490)});
  EXPECT_EQ(**good(late.next(10s)), 490);
  auto fresh = consumer<std::uint64_t>("fresh", {.start = StartAt::end()});
  expect_error(fresh.next(20ms), ErrorCode::deadline, "nothing new");
  good(out.send(std::uint64_t{500}));
  EXPECT_EQ(**good(fresh.next(10s)), 500);
  expect_error(in.seek(StartAt::offset(10'000)), ErrorCode::invalid_argument, "10000");
}

TEST_P(StreamFleet, WhatIsNotAckedGoesToAnotherConsumer) {
  auto out = producer<std::uint64_t>({.linger = 0ns});
  for (std::uint64_t i = 0; i < 3; ++i) good(out.send(i));
  {
    auto in = consumer<std::uint64_t>();
    good(in.next(10s))->ack();
    const auto forgotten = good(in.next(10s));
    EXPECT_EQ(**forgotten, 1);
  }
  auto in = consumer<std::uint64_t>();
  for (const std::uint64_t expected : {1, 2}) {
    const auto item = good(in.next(10s));
    EXPECT_EQ(**item, expected);
    EXPECT_GE(item->deliveries(), 2) << "somebody had it before";
    item->ack();
  }
}

TEST_P(StreamFleet, AnItemStaysReadableAsLongAsSomebodyHasIt) {
  std::optional<Received<std::uint64_t[]>> kept;
  const auto big = numbers(50'000);
  {
    auto out = producer<std::uint64_t[]>();
    auto in = consumer<std::uint64_t[]>();
    good(out.send(big));
    good(out.flush());
    kept = good(in.next(10s));
    kept->ack();
    // Whose memory would be used again, were it free.
    for (int i = 0; i < 4; ++i) good(out.send(std::vector<std::uint64_t>(50'000)));
    good(out.flush());
  }
  EXPECT_TRUE(std::ranges::equal(**kept, big));
}

TEST_P(StreamFleet, AFullTopicMakesProducersWaitAndSaysSo) {
  ProducerOptions options{
      .topic = TopicOptions{.max_bytes = 64 << 10}, .batch_bytes = 8 << 10, .patience = 50ms};
  auto out = producer<std::string>(options);
  const std::string item(1000, 'x');
  Status sent;
  int taken = 0;
  while (taken < 1000 && (sent = out.send(item))) ++taken;
  expect_error(sent, ErrorCode::overload, "no room");
  EXPECT_GT(status().refused, 0);
  auto in = consumer<std::string>();
  std::thread consume([&] {
    for (int i = 0; i < taken + 100; ++i) good(in.next(20s))->ack();
  });
  for (int i = 0; i < 100; ++i) {
    while (!out.send(item)) {
    }
  }
  while (!out.flush()) {
  }
  consume.join();
  EXPECT_EQ(status().end, static_cast<std::uint64_t>(taken) + 100) << "nothing lost, nothing twice";
}

TEST_P(StreamFleet, ALargeItemThatDoesNotFitWaitsForItsConsumers) {
  auto out = producer<std::uint64_t[]>({.topic = TopicOptions{.max_bytes = 3 << 20}});
  const auto big = numbers(std::size_t{1} << 17);  // 1 MiB
  std::thread consume([&] {
    auto in = consumer<std::uint64_t[]>();
    for (int i = 0; i < 12; ++i) {
      const auto item = good(in.next(20s));
      ASSERT_TRUE(item);
      EXPECT_TRUE(std::ranges::equal(**item, big));
      item->ack();
    }
  });
  for (int i = 0; i < 12; ++i) good(out.send(big));
  good(out.flush());
  consume.join();
  expect_kept(0);
}

TEST_P(StreamFleet, TopicsAreListedDescribedAndRemoved) {
  expect_error(topic_status(home(), "topic"), ErrorCode::not_found, "topic");
  auto out = producer<std::uint64_t>({.linger = 0ns});
  good(out.send(std::uint64_t{7}));
  auto in = consumer<std::uint64_t>("readers");
  const auto item = good(in.next(10s));
  const auto topics = good(list_topics(home()));
  ASSERT_EQ(topics.size(), 1);
  EXPECT_EQ(topics[0].name, "topic");
  EXPECT_EQ(topics[0].end, 1);
  EXPECT_EQ(topics[0].producers, 1);
  EXPECT_EQ(topics[0].group_count, 1);
  const TopicStatus one = status();
  ASSERT_EQ(one.groups.size(), 1);
  EXPECT_EQ(one.groups[0].name, "readers");
  EXPECT_EQ(one.groups[0].leased, 1);
  EXPECT_EQ(one.groups[0].consumers, 1);
  good(remove_group(home(), "topic", "readers"));
  expect_error(remove_group(home(), "topic", "readers"), ErrorCode::not_found, "readers");
  good(remove_topic(home(), "topic"));
  EXPECT_EQ(**item, 7) << "what is being read stays";
  expect_error(topic_status(home(), "topic"), ErrorCode::not_found);
  EXPECT_FALSE(in.next(10s));
}

TEST_P(StreamFleet, BadArgumentsAreRefused) {
  expect_error(Producer<double>::open(home(), ""), ErrorCode::invalid_argument);
  expect_error(Producer<double>::open(home(), std::string(300, 'n')), ErrorCode::invalid_argument);
  auto out = producer<std::string>();
  expect_error(out.send(std::string("x"), std::string(5000, 'k')), ErrorCode::too_large, "key");
  expect_error(Consumer<std::string>::join(home(), "topic", "g", {.start = StartAt::offset(5)}),
               ErrorCode::invalid_argument, "offset 5");
  expect_error(Consumer<std::string>::join(home(), "topic", "g", {.filter = {.one_in = 0}}),
               ErrorCode::invalid_argument);
  auto small = good(
      Producer<std::string>::open(home(), "small", {.topic = TopicOptions{.max_bytes = 1000}}));
  expect_error(small.send(std::string(1 << 20, 'x')), ErrorCode::too_large, "1000");
}

INSTANTIATE_TEST_SUITE_P(Brokers, StreamFleet, kEveryBroker, broker_name);

}  // namespace
}  // namespace godwit::node
