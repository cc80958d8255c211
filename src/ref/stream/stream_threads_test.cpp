// Several threads at one topic at the same time; ThreadSanitizer looks on in ./dev test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/sanitizers.hpp"
#include "ref/stream/stream_for_test.hpp"

namespace godwit::ref::stream {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kProducers = 2;
constexpr std::uint64_t kConsumers = 2;   // of each group
constexpr std::uint64_t kItems = 30'000;  // of each producer
constexpr std::size_t kGroups = 2;

std::uint64_t number_of(const Item& item) {
  std::uint64_t number = 0;
  std::memcpy(&number, item.bytes.data(), sizeof number);
  return number;
}

class Crowd {
 public:
  Crowd()
      : arena_(arena_for_test()),
        store_(
            clock_, arena_,
            {.home = kHome, .on_ready = [this](std::uint64_t waiter) { ++called_[waiter - 1]; }}),
        id_(store_.open("topic", TopicOptions{.max_bytes = 20'000, .groups_awaited = kGroups})
                .value()) {
    for (auto& group : seen_) group = std::vector<std::atomic<int>>(kProducers * kItems);
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < kProducers; ++i) {
      threads.emplace_back([this, i] { produce(i); });
    }
    for (std::uint64_t i = 0; i < kGroups * kConsumers; ++i) {
      threads.emplace_back([this, i] { consume(i); });
    }
    threads.emplace_back([this] { pass_time(); });
    for (std::thread& thread : threads) thread.join();
  }
  void expect_everything_seen() {
    for (const auto& group : seen_) {
      for (const std::atomic<int>& times : group) EXPECT_GE(times, 1);
    }
    EXPECT_EQ(arena_.use().extents, 0);
    EXPECT_EQ(store_.stats().waiters, 0);
  }

 private:
  // False: it was not called in a time that is long for everybody.
  bool wait(Holder me) {
    std::atomic<int>& calls = called_[me.node.value - 1];
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (calls == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return calls-- == 1;
  }
  void produce(std::uint64_t number) {
    const Holder me{{number + 1}, {1}};
    EXPECT_TRUE(store_.produce(me, id_, ProducerKind::one_of_many));
    for (std::uint64_t next = 0; next < kItems;) {
      std::vector<std::uint64_t> numbers;
      for (; numbers.size() < 20 && next < kItems; ++next)
        numbers.push_back(number * kItems + next);
      std::vector<Item> items;
      for (const std::uint64_t& value : numbers) items.push_back({bytes_of_value(value), {}});
      Batch batch = Batch::pack(arena_, items, kWait).value();
      while (batch) {
        const auto first = store_.append(me, id_, batch, {.waiter = me.node.value});
        if (first) break;
        ASSERT_EQ(first.error().code, ErrorCode::would_block) << first.error().message;
        ASSERT_TRUE(wait(me));
      }
    }
    if (++finished_ == kProducers) {
      EXPECT_TRUE(store_.close(id_));
    }
  }
  void consume(std::uint64_t number) {
    const std::size_t group = number % kGroups;
    const Holder me{{kProducers + number + 1}, {1}};
    Random random(number);
    const GroupKey key{id_, store_.join(me, id_, group == 0 ? "a" : "b", {}).value()};
    for (;;) {
      const auto delivery = store_.fetch(me, key,
                                         {.items = static_cast<std::uint32_t>(1 + random.below(50)),
                                          .lease = 20ms,
                                          .waiter = me.node.value});
      if (!delivery) {
        ASSERT_EQ(delivery.error().code, ErrorCode::would_block) << delivery.error().message;
        ASSERT_TRUE(wait(me));
        continue;
      }
      if (delivery->ended) break;
      for (const Slice& slice : delivery->slices) {
        for (std::uint32_t i = 0; i < slice.items; ++i) ++seen_[group][number_of(slice.item(i))];
      }
      if (random.below(10) == 0) {
        EXPECT_TRUE(store_.give_back(me, id_, delivery->lease));
      } else {
        EXPECT_TRUE(store_.ack(me, id_, delivery->lease, {}));
      }
    }
    ++ended_;
  }
  // All of a run is shorter than a holder's lease, and much longer than that of items.
  void pass_time() {
    for (int i = 0; ended_ < kGroups * kConsumers && !testing::Test::HasFailure(); ++i) {
      if (i < 900) clock_.advance(10ms);
      store_.sweep();
      (void)store_.groups(id_);
      std::this_thread::yield();
    }
  }

  SharedClock clock_;
  Arena arena_;
  std::array<std::atomic<int>, kProducers + kGroups * kConsumers> called_{};  // by node
  std::atomic<std::uint64_t> finished_{0}, ended_{0};
  StreamStore store_;
  const TopicId id_;
  std::array<std::vector<std::atomic<int>>, kGroups> seen_;
};

TEST(StreamThreads, ProducersAndConsumersOfManyThreadsLoseNothing) {
  Crowd crowd;
  crowd.run();
  crowd.expect_everything_seen();
}

// In order and once, for a consumer that is alone; and how fast that goes, for people to read.
TEST(StreamThreads, OneConsumerSeesManySmallItemsOnceAndInOrder) {
  constexpr std::uint64_t kBatch = 1'000;
  constexpr std::uint64_t kRounds = kSanitized ? 20 : 1'000;
  ManualClock clock;
  Arena arena(arena_for_test());
  StreamStore store(clock, arena, {.home = kHome});
  const Holder me{{1}, {1}};
  const TopicId id = store.open("fast", std::nullopt).value();
  EXPECT_TRUE(store.produce(me, id, ProducerKind::sole));
  const GroupKey group{id, store.join(me, id, "all", {}).value()};
  std::vector<std::array<std::uint64_t, 8>> values(kBatch);  // 64 bytes each
  std::vector<Item> items;
  for (auto& value : values) items.push_back({std::as_bytes(std::span(value)), {}});
  std::uint64_t expected = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 0; i < kBatch; ++i) values[i][0] = round * kBatch + i;
    Batch batch = Batch::pack(arena, items, kWait).value();
    ASSERT_TRUE(store.append(me, id, batch, {}));
    const Delivery delivery = store.fetch(me, group, {.items = kBatch}).value();
    for (const Slice& slice : delivery.slices) {
      for (std::uint32_t i = 0; i < slice.items; ++i) {
        ASSERT_EQ(number_of(slice.item(i)), expected++);
      }
    }
    ASSERT_TRUE(store.ack(me, id, delivery.lease, {}));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(expected, kRounds * kBatch);
  EXPECT_EQ(arena.use().extents, 0);
  std::printf("%.1f M items of 64 B per second, packed, appended, fetched, read and acked\n",
              static_cast<double>(expected) / took.count() / 1e6);
}

}  // namespace
}  // namespace godwit::ref::stream
