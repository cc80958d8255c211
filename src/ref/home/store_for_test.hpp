// A home with a clock that a test moves, and short spellings for what tests do with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "ref/home/store.hpp"

namespace godwit::ref {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  Time now_{1'000'000};
};

// The same for several threads.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return {now_.load()}; }
  void advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_{1};
};

inline constexpr Arena::Wait kWait = Arena::Wait::yes;
inline constexpr NodeId kHome{0xaa};

inline ObjectStore::Options options_for_test() {
  return {.home = kHome,
          .arena = {.budget_bytes = std::size_t{64} << 20, .slab_bytes = std::size_t{1} << 20},
          .key = HandleKey::random()};
}

class StoreTest : public testing::Test {
 protected:
  static constexpr Holder kAlice{.node = {1}, .epoch = {10}};
  static constexpr Holder kBob{.node = {2}, .epoch = {10}};
  static constexpr Holder kCarol{.node = {3}, .epoch = {10}};

  explicit StoreTest(ObjectStore::Options options = options_for_test())
      : store(clock, with_waiters(std::move(options))) {}

  Handle put(Holder holder, std::string_view text, const NewObject& object = {}) {
    const Bytes part = bytes_of(text);
    return store.put(holder, object, std::span(&part, 1), kWait).value();
  }
  std::uint64_t reserve(Holder holder, std::string_view text) {
    const std::uint64_t ticket = store.reserve(holder, text.size(), kWait).value().ticket;
    EXPECT_TRUE(store.write(holder, ticket, 0, bytes_of(text)));
    return ticket;
  }
  Located locate(Holder holder, const Handle& handle) {
    return store.locate(holder, handle, kWait).value();
  }
  ErrorCode locate_error(Holder holder, const Handle& handle) {
    const auto located = store.locate(holder, handle, kWait);
    if (!located) return located.error().code;
    store.release(holder, located->pin);
    return ErrorCode::none;
  }
  // What a reader sees from beginning to end.
  std::string read(Holder holder, const Handle& handle) {
    const Located located = locate(holder, handle);
    std::string text = text_at(located);
    store.release(holder, located.pin);
    return text;
  }
  static std::string text_at(const Located& located) {
    return std::string(text_of({located.data, static_cast<std::size_t>(located.size)}));
  }
  bool called(std::uint64_t waiter) const {
    return std::find(ready.begin(), ready.end(), waiter) != ready.end();
  }
  void pass(Duration time) {
    clock.advance(time);
    store.sweep();
  }
  // Nobody holds anything, and there is nothing.
  void expect_empty() {
    const ObjectStore::Stats stats = store.stats();
    EXPECT_EQ(stats.objects, 0);
    EXPECT_EQ(stats.pins, 0);
    EXPECT_EQ(stats.borrows, 0);
    EXPECT_EQ(stats.reservations, 0);
    EXPECT_EQ(stats.waiters, 0);
    EXPECT_EQ(store.arena().use().used_bytes, 0);
    EXPECT_EQ(store.arena().use().extents, 0);
  }

  ManualClock clock;
  std::vector<std::uint64_t> ready;
  ObjectStore store;

 private:
  ObjectStore::Options with_waiters(ObjectStore::Options options) {
    options.on_ready = [this](std::uint64_t waiter) { ready.push_back(waiter); };
    return options;
  }
};

template <class T>
ErrorCode code_of(const Result<T>& result) {
  return result ? ErrorCode::none : result.error().code;
}

}  // namespace godwit::ref
