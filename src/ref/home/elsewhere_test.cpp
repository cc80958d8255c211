// A home whose objects may be in a channel: what it lets others write, fetches, and removes.
#include "ref/home/elsewhere.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/fail.hpp"
#include "ref/channel/memory_channel.hpp"
#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

// In memory, and away when a test says so.
class FickleChannel final : public Channel {
 public:
  struct Place {
    MemoryChannel values;
    std::atomic<bool> away{false};
    std::atomic<int> removals{0};
    std::atomic<int> renewals{0};
    std::atomic<std::uint64_t> ttl_s{0};
  };
  explicit FickleChannel(Place& place) : place_(place) {}

  Status put(std::string_view key, Parts parts) override {
    GODWIT_CHECK(reach());
    return place_.values.put(key, parts);
  }
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override {
    GODWIT_CHECK(reach());
    return place_.values.get(key, offset, into);
  }
  Result<std::uint64_t> size(std::string_view key) override {
    GODWIT_CHECK(reach());
    return place_.values.size(key);
  }
  Status remove(std::string_view key) override {
    ++place_.removals;
    GODWIT_CHECK(reach());
    return place_.values.remove(key);
  }
  [[nodiscard]] std::uint64_t time_to_live_s() const override { return place_.ttl_s; }
  Status renew(std::span<const std::string> keys) override {
    place_.renewals += static_cast<int>(keys.size());
    return {};
  }
  [[nodiscard]] std::string describe() const override { return "fickle:"; }

 private:
  [[nodiscard]] Status reach() const {
    if (place_.away) return fail(ErrorCode::unreachable, "it is away");
    return {};
  }
  Place& place_;
};

// Made before the store, which it is part of the options of.
class FicklePlace {
 protected:
  std::shared_ptr<ChannelSet> open() {
    EXPECT_TRUE(register_channel("fickle", [this](const ChannelUrl&) {
      return Result<std::unique_ptr<Channel>>(std::make_unique<FickleChannel>(place));
    }));
    const std::vector<ChannelOptions> options{{.name = "far", .url = "fickle:"}};
    return ChannelSet::open(options).value();
  }
  ObjectStore::Options options_with(std::shared_ptr<ChannelSet> set) {
    ObjectStore::Options options = options_for_test();
    options.channels = std::make_shared<HomeChannels>(kHome, std::move(set));
    return options;
  }
  FickleChannel::Place place;
};

class ElsewhereStore : public FicklePlace, public StoreTest {
 protected:
  ElsewhereStore() : StoreTest(options_with(open())) {}

  static constexpr std::uint16_t kFar = 1;

  // As a process does that has the channel.
  void write(const ElsewhereReservation& room, std::string_view text) {
    const Bytes part = bytes_of(text);
    ASSERT_EQ(room.channel, kFar);
    EXPECT_TRUE(
        place.values.put(channel_key(kHome, room.object, room.version), std::span(&part, 1)));
  }
  ElsewhereReservation reserve_far(std::size_t size, const Handle* next_of = nullptr) {
    return store.reserve_elsewhere(kAlice, size, kFar, next_of, kWait).value();
  }
  Handle put_far(std::string_view text, const NewObject& object = {}) {
    const ElsewhereReservation room = reserve_far(text.size());
    write(room, text);
    return store.commit(kAlice, room.room.ticket, object).value();
  }
  bool there(const Handle& handle) {
    return place.values.exists(channel_key(kHome, handle.object, handle.version)).value();
  }
  template <class Condition>
  static bool becomes(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

TEST_F(ElsewhereStore, WhatIsInAChannelIsTakenFromThereOrFetched) {
  const Handle handle = put_far("hello");
  EXPECT_EQ(handle.size, 5U);
  EXPECT_EQ(store.arena().use().used_bytes, 0U);
  const auto as_it_is =
      store.locate(kBob, handle, Arena::Wait::no, ObjectStore::From::anywhere).value();
  EXPECT_TRUE(as_it_is.is_elsewhere());
  EXPECT_EQ(as_it_is.channel, kFar);
  EXPECT_EQ(code_of(store.locate(kBob, handle, Arena::Wait::no)), ErrorCode::would_block);
  EXPECT_EQ(read(kBob, handle), "hello");
  const auto fetched = store.fetch(kBob, handle, as_it_is.pin).value();
  EXPECT_EQ(fetched.pin, as_it_is.pin);
  EXPECT_EQ(text_at(fetched), "hello");
  EXPECT_EQ(code_of(store.fetch(kAlice, handle, as_it_is.pin)), ErrorCode::not_found)
      << "it is Bob's pin";
  store.release(kBob, as_it_is.pin);
  EXPECT_TRUE(store.evict(handle));
  EXPECT_TRUE(becomes([&] { return !there(handle); }));
  expect_empty();
}

TEST_F(ElsewhereStore, OneThatIsReadIsRemovedAfterItsLastReader) {
  const Handle handle = put_far("hello");
  const auto pin =
      store.locate(kBob, handle, Arena::Wait::no, ObjectStore::From::anywhere).value().pin;
  EXPECT_TRUE(store.evict(handle));
  EXPECT_EQ(place.removals, 0);
  EXPECT_TRUE(there(handle));
  store.release(kBob, pin);
  EXPECT_TRUE(becomes([&] { return !there(handle); }));
}

TEST_F(ElsewhereStore, WhatIsNotThereOrOfAnotherSizeIsNotCommitted) {
  const ElsewhereReservation room = reserve_far(5);
  EXPECT_EQ(code_of(store.commit(kAlice, room.room.ticket, {}, Arena::Wait::no)),
            ErrorCode::would_block);
  EXPECT_EQ(code_of(store.commit(kAlice, room.room.ticket, {})), ErrorCode::invalid_argument);
  write(room, "four");
  EXPECT_EQ(code_of(store.commit(kAlice, room.room.ticket, {})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.commit(kAlice, room.room.ticket, {.persist = true})),
            ErrorCode::unsupported);
  write(room, "hello");
  EXPECT_EQ(code_of(store.commit(kBob, room.room.ticket, {})), ErrorCode::not_found);
  EXPECT_TRUE(store.commit(kAlice, room.room.ticket, {}));
}

TEST_F(ElsewhereStore, WhatAWriterThatEndsLeftIsRemoved) {
  const ElsewhereReservation abandoned = reserve_far(5);
  const ElsewhereReservation left = reserve_far(5);
  write(abandoned, "hello");
  write(left, "world");
  store.abandon(kAlice, abandoned.room.ticket);
  store.leave(kAlice);
  EXPECT_TRUE(becomes([&] {
    return !place.values.exists(channel_key(kHome, abandoned.object, 1)).value() &&
           !place.values.exists(channel_key(kHome, left.object, 1)).value();
  }));
  expect_empty();
}

TEST_F(ElsewhereStore, NoTwoWritersEverHaveTheSameKey) {
  const Handle first = put_far("one");
  const ElsewhereReservation slow = reserve_far(3, &first);
  const ElsewhereReservation quick = reserve_far(3, &first);
  EXPECT_NE(slow.version, quick.version);
  write(slow, "two");
  write(quick, "TWO");
  const Handle second = store.update(kAlice, first, quick.room.ticket).value();
  EXPECT_EQ(code_of(store.update(kAlice, first, slow.room.ticket)), ErrorCode::stale);
  store.abandon(kAlice, slow.room.ticket);
  EXPECT_EQ(read(kBob, second), "TWO");
  EXPECT_TRUE(becomes([&] { return !there(first); }));
  // And what is updated in memory never gets a number that somebody writes under.
  const ElsewhereReservation third = reserve_far(3, &second);
  const Handle in_memory = store.update(kAlice, second, reserve(kAlice, "mem")).value();
  EXPECT_GT(in_memory.version, third.version);
  EXPECT_EQ(read(kBob, in_memory), "mem");
}

TEST_F(ElsewhereStore, AReservationIsForTheObjectItWasMadeFor) {
  const Handle one = put_far("one");
  const Handle other = put_far("two");
  const ElsewhereReservation next = reserve_far(3, &one);
  const ElsewhereReservation fresh = reserve_far(3);
  write(next, "new");
  write(fresh, "new");
  EXPECT_EQ(code_of(store.commit(kAlice, next.room.ticket, {})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.update(kAlice, other, next.room.ticket)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store.update(kAlice, one, fresh.room.ticket)), ErrorCode::invalid_argument);
  // A number that others have passed meanwhile is not used any more.
  const Handle third = store.update(kAlice, one, reserve(kAlice, "mem")).value();
  EXPECT_EQ(code_of(store.update(kAlice, third, next.room.ticket)), ErrorCode::stale);
  EXPECT_EQ(read(kBob, third), "mem");
}

TEST_F(ElsewhereStore, APromiseIsKeptThereByOneAndByOthersInMemory) {
  const Handle promised = store.promise(kAlice, {.channel = kFar}, {}).value();
  const ElsewhereReservation first =
      store.reserve_elsewhere(kAlice, 5, 0, &promised, kWait).value();
  write(first, "hello");
  const ElsewhereReservation other = store.reserve_elsewhere(kBob, 5, 0, &promised, kWait).value();
  EXPECT_EQ(other.channel, 0) << "that version was given out before";
  EXPECT_TRUE(store.fulfil(kAlice, promised, first.room.ticket));
  EXPECT_EQ(code_of(store.fulfil(kBob, promised, other.room.ticket)), ErrorCode::already_exists);
  EXPECT_EQ(read(kBob, promised), "hello");
  store.abandon(kBob, other.room.ticket);
}

TEST_F(ElsewhereStore, AChannelThatIsAwayIsAnErrorNotALoss) {
  const Handle handle = put_far("hello");
  place.away = true;
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::unreachable);
  place.away = false;
  EXPECT_EQ(read(kBob, handle), "hello");
}

TEST_F(ElsewhereStore, WhatAChannelLostIsToldOfAndStaysLost) {
  const Handle handle = put_far("hello");
  EXPECT_TRUE(place.values.remove(channel_key(kHome, handle.object, 1)));
  EXPECT_EQ(locate_error(kBob, handle), ErrorCode::not_found);
  EXPECT_EQ(code_of(store.locate(kBob, handle, kWait, ObjectStore::From::anywhere)),
            ErrorCode::not_found);
}

TEST_F(ElsewhereStore, RemovingGoesOnUntilTheChannelIsBack) {
  const Handle handle = put_far("hello");
  place.away = true;
  EXPECT_TRUE(store.evict(handle));
  EXPECT_TRUE(becomes([&] { return place.removals >= 3; }));
  EXPECT_TRUE(becomes([&] { return store.channels()->stats().pending == 1; }))
      << "it waits for the next attempt";
  place.away = false;
  EXPECT_TRUE(becomes([&] { return !there(handle); }));
  EXPECT_TRUE(becomes([&] { return store.channels()->stats().pending == 0; }));
  EXPECT_EQ(store.channels()->stats().removed, 1U);
  EXPECT_GE(store.channels()->stats().failed, 2U);
}

TEST_F(ElsewhereStore, CopiesInMemoryMakeRoomForOthers) {
  const std::string large(std::size_t{20} << 20, 'x');  // of 64 MiB
  std::vector<Handle> handles;
  for (int i = 0; i < 6; ++i) handles.push_back(put_far(large));
  for (const Handle& handle : handles) EXPECT_EQ(read(kBob, handle).size(), large.size());
  const Handle mine = put(kAlice, large);  // there is no folder: channels are enough
  EXPECT_EQ(read(kBob, mine).size(), large.size());
  EXPECT_EQ(read(kBob, handles[0]), large);
}

TEST_F(ElsewhereStore, AHomeThatEndsRemovesItsObjects) {
  const Handle handle = put_far("hello");
  store.close_channels();
  EXPECT_FALSE(there(handle));
}

TEST_F(ElsewhereStore, WhatLivesIsRenewedWithinItsTimeToLive) {
  place.ttl_s = 4;
  const Handle kept = put_far("hello");
  const Handle ended = put_far("world");
  EXPECT_TRUE(store.evict(ended));  // and with that the thread that renews is there
  EXPECT_TRUE(becomes([&] { return place.renewals >= 1; }));
  EXPECT_TRUE(there(kept));
}

}  // namespace
}  // namespace godwit::ref
