// Several threads at one store at the same time; ThreadSanitizer looks on in ./dev test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"
#include "ref/home/store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kThreads = 4;
constexpr std::size_t kShared = 24;
// Shorter than the lease of a holder in all the steps of a run together.
constexpr Duration kTick = 10ms;

class Crowd {
 public:
  Crowd() : store_(clock_, options()) {
    for (Handle& handle : shared_) handle = make(kFounder, 0);
  }

  void run(std::uint64_t seed, int steps) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i, seed, steps] { work(i, Random(seed * kThreads + i), steps); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Everybody dies, and what is left is evicted.
  void finish() {
    EXPECT_GT(reads_, 0);
    clock_.advance(ObjectStore::kHolderLease);
    store_.sweep();
    const ObjectStore::Stats held = store_.stats();
    EXPECT_EQ(held.pins + held.borrows + held.reservations, 0);
    for (const ObjectDescription& object : store_.list(SIZE_MAX, Rights::all)) {
      EXPECT_TRUE(store_.evict(object.handle));
    }
    EXPECT_EQ(store_.stats().objects + store_.stats().waiters, 0);
    EXPECT_EQ(store_.arena().use().used_bytes, 0);
    // A waiter that was kept was called or stopped, whichever came first, and no other one.
    EXPECT_EQ(kept_waiters_, called_);
  }

 private:
  static constexpr Holder kFounder{.node = {100}, .epoch = {1}};

  ObjectStore::Options options() {
    ObjectStore::Options options = options_for_test();
    options.on_ready = [this](std::uint64_t waiter) {
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(called_.insert(waiter).second) << "called twice";
    };
    return options;
  }
  // All bytes of a version are the same: a reader sees whether it is torn.
  Handle make(Holder holder, std::uint64_t kind) {
    const std::string text(64 + kind % 2'000, static_cast<char>('a' + kind % 26));
    const Bytes part = bytes_of(text);
    const NewObject object{
        .lifetime = {.kind = static_cast<LifetimeKind>(kind % 4), .readers = 3, .lease = 1s},
        .owned = kind % 7 == 0};
    return store_.put(holder, object, std::span(&part, 1), kWait).value();
  }
  Handle shared(Random& random) {
    const std::lock_guard lock(mutex_);
    return shared_[random.below(kShared)];
  }
  void share(Random& random, const Handle& handle) {
    const std::lock_guard lock(mutex_);
    shared_[random.below(kShared)] = handle;
  }

  void work(std::size_t number, Random random, int steps) {
    Holder me{.node = {number + 1}, .epoch = {1}};
    for (int i = 0; i < steps; ++i) {
      const Handle handle = store_.newest(shared(random)).value_or(shared(random));
      switch (random.below(14)) {
        case 0: share(random, make(me, random.next())); break;
        case 1: update(me, handle, random); break;
        case 2: borrow(me, handle, random); break;
        case 3: hand_over(me, handle); break;
        case 4: promise(me, random); break;
        case 5: wait(number, handle, random); break;
        case 6: (void)store_.evict(handle); break;
        case 7: live(me, random); break;
        case 8: look(handle); break;
        case 9: (void)store_.locate(me, handle, kWait); break;  // and forgets about it
        default: read(number, handle); break;
      }
    }
  }
  // In the name of one who lives: bytes are good for as long as their pin, which ends with a
  // holder.
  void read(std::size_t number, const Handle& handle) {
    const Holder reader{.node = {200 + number}, .epoch = {1}};
    const auto located = store_.locate(reader, handle, kWait);
    if (!located) return;
    const auto again = store_.locate_again(reader, handle, located->pin);
    EXPECT_TRUE(again);
    store_.release(reader, located->pin);
    const std::string_view text = text_of({again->data, static_cast<std::size_t>(again->size)});
    EXPECT_EQ(text.find_first_not_of(text.substr(0, 1)), std::string_view::npos) << "torn";
    store_.release(reader, again->pin);
    ++reads_;
  }
  void update(Holder me, const Handle& handle, Random& random) {
    const std::string text(100 + random.below(500), static_cast<char>('A' + random.below(26)));
    const auto room = store_.reserve(me, text.size(), kWait);
    if (!room) return;
    if (!store_.write(me, room->ticket, 0, bytes_of(text))) return;
    if (!store_.update(me, handle, room->ticket) && random.below(4) != 0) {
      store_.abandon(me, room->ticket);
    }
  }
  void borrow(Holder me, const Handle& handle, Random& random) {
    const auto kind =
        random.below(4) == 0 ? ObjectStore::BorrowKind::write : ObjectStore::BorrowKind::read;
    const auto borrow = store_.borrow(me, handle, kind);
    if (borrow && random.below(8) != 0) store_.give_back(me, *borrow);
  }
  void hand_over(Holder me, const Handle& handle) {
    (void)store_.own(me, handle);
    const auto offer = store_.offer(me, handle, 500ms);
    if (offer)
      (void)store_.accept({.node = {me.node.value % kThreads + 1}, .epoch = {1}}, handle, *offer);
    (void)store_.drop(me, handle);
  }
  void promise(Holder me, Random& random) {
    const auto handle = store_.promise(me, {}, random.below(2) == 0 ? Duration{} : 300ms);
    if (!handle) return;
    share(random, *handle);
    if (random.below(2) != 0) return;
    const auto room = store_.reserve(me, 0, kWait);
    if (room) (void)store_.fulfil(me, *handle, room->ticket);
  }
  void wait(std::size_t number, const Handle& handle, Random& random) {
    const std::uint64_t waiter = ++waiters_ * kThreads + number;
    {
      const std::lock_guard lock(mutex_);
      kept_waiters_.insert(waiter);  // before it can be called
    }
    const auto now = store_.wait(handle, random.below(4), waiter);
    if (now && !*now) return;
    const std::lock_guard lock(mutex_);
    kept_waiters_.erase(waiter);
  }
  void live(Holder& me, Random& random) {
    switch (random.below(7)) {
      case 0: store_.lost(me.node); break;
      case 1: clock_.advance(kTick); break;
      case 2: ++me.epoch.value; break;
      case 3: store_.sweep(); break;
      case 4: store_.leave(me); break;
      default: (void)store_.renew(me); break;
    }
  }
  void look(const Handle& handle) {
    (void)store_.exists(handle);
    (void)store_.describe(handle);
    (void)store_.stats();
    (void)store_.list(3);
  }

  SharedClock clock_;
  std::mutex mutex_;
  std::set<std::uint64_t> called_, kept_waiters_;
  std::array<Handle, kShared> shared_;
  std::atomic<std::uint64_t> waiters_{0};
  std::atomic<std::uint64_t> reads_{0};
  ObjectStore store_;
};

TEST(StoreThreads, HammeringLeavesNothingBehind) {
  for (const std::uint64_t seed : Seeds(1, 4)) {
    Crowd crowd;
    crowd.run(seed, 5'000);
    crowd.finish();
  }
}

TEST(StoreThreads, HammeringLeavesNothingBehindLong) {
  for (const std::uint64_t seed : Seeds(100, 160)) {
    Crowd crowd;
    crowd.run(seed, 10'000);
    crowd.finish();
  }
}

}  // namespace
}  // namespace godwit::ref
