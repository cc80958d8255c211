// A home of topics with a clock that a test moves, and short spellings for what tests do with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "ref/home/store_for_test.hpp"
#include "ref/stream/stream_store.hpp"

namespace godwit::ref::stream {

inline Arena::Options arena_for_test() {
  return {.budget_bytes = std::size_t{64} << 20, .slab_bytes = std::size_t{1} << 20};
}

inline Batch batch_of(Arena& arena, const std::vector<std::string>& texts,
                      std::string_view metadata = {}) {
  std::vector<Item> items;
  for (const std::string& text : texts) items.push_back({bytes_of(text), bytes_of(metadata)});
  return Batch::pack(arena, items, kWait).value();
}

inline std::vector<std::string> texts_of(const Delivery& delivery) {
  std::vector<std::string> texts;
  for (const Slice& slice : delivery.slices) {
    for (std::uint32_t i = 0; i < slice.items; ++i) {
      texts.emplace_back(text_of(slice.item(i).bytes));
    }
  }
  return texts;
}

class StreamTest : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  static constexpr Holder kAlice{.node = {1}, .epoch = {10}};
  static constexpr Holder kBob{.node = {2}, .epoch = {10}};
  static constexpr Holder kCarol{.node = {3}, .epoch = {10}};

  StreamTest()
      : arena(arena_for_test()),
        store(clock, arena, {.home = kHome, .on_ready = [this](std::uint64_t waiter) {
                               ready.push_back(waiter);
                             }}) {}

  // Alice is one of its producers.
  TopicId topic(const TopicOptions& options = {}, ProducerKind kind = ProducerKind::one_of_many) {
    const TopicId id = store.open("numbers", options).value();
    EXPECT_TRUE(store.produce(kAlice, id, kind));
    return id;
  }
  GroupKey join(Holder holder, TopicId id, std::string_view name = "all",
                const GroupOptions& options = {}) {
    return {id, store.join(holder, id, name, options).value()};
  }
  Result<std::uint64_t> try_append(TopicId id, const Texts& texts,
                                   const AppendOptions& options = {},
                                   std::string_view metadata = {}) {
    Batch batch = batch_of(arena, texts, metadata);
    return store.append(kAlice, id, batch, options);
  }
  std::uint64_t append(TopicId id, const Texts& texts, std::string_view metadata = {}) {
    return try_append(id, texts, {}, metadata).value();
  }
  Delivery fetch(Holder holder, GroupKey group, const FetchOptions& options = {}) {
    return store.fetch(holder, group, options).value();
  }
  ErrorCode fetch_error(Holder holder, GroupKey group, const FetchOptions& options = {}) {
    return code_of(store.fetch(holder, group, options));
  }
  // What a consumer gets that acks at once.
  Texts read(Holder holder, GroupKey group, const FetchOptions& options = {}) {
    const Delivery delivery = fetch(holder, group, options);
    Texts texts = texts_of(delivery);
    EXPECT_TRUE(store.ack(holder, group.topic, delivery.lease, {}));
    return texts;
  }
  std::uint64_t ack(Holder holder, TopicId id, const Delivery& delivery, OffsetRange range) {
    return store.ack(holder, id, delivery.lease, std::span(&range, 1)).value();
  }
  bool called(std::uint64_t waiter) const {
    return std::find(ready.begin(), ready.end(), waiter) != ready.end();
  }
  void pass(Duration time) {
    clock.advance(time);
    store.sweep();
  }
  std::size_t extents() const { return arena.use().extents; }

  ManualClock clock;
  Arena arena;
  std::vector<std::uint64_t> ready;
  StreamStore store;
};

}  // namespace godwit::ref::stream
