// Deadlines of many calls, most of which end long before: adding and removing are a few
// instructions, and nothing is sorted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/list.hpp"
#include "base/scheduler.hpp"

namespace godwit::call {

struct WheelTag;
struct DeadlineHook : ListHook<WheelTag> {
  Time deadline;
  bool due = false;  // off its bucket, about to be handed out
};

// A hashed wheel: a deadline hangs in the bucket of its tick modulo the wheel's size, and is looked
// at again once per turn until it is due. Owned and used by one thread.
class DeadlineWheel {
 public:
  static constexpr std::int64_t kTickNs = std::int64_t{1} << 22;  // about 4 ms, and a shift
  static constexpr std::size_t kBuckets = 1024;                   // one turn is about 4 s

  explicit DeadlineWheel(Time now) : cursor_(tick_of(now)) {}

  void add(DeadlineHook& hook) noexcept {
    buckets_[bucket_of(hook)].push_back(hook);
    ++count_;
  }
  void remove(DeadlineHook& hook) noexcept {
    if (!hook.linked()) return;
    (hook.due ? due_ : buckets_[bucket_of(hook)]).remove(hook);
    hook.due = false;
    --count_;
  }

  // Removes everything due by `now` and hands it out. The handler may add and remove other hooks.
  template <class F>
  void expire(Time now, F&& due) {
    const std::int64_t last = tick_of(now);
    const std::int64_t turns_end = cursor_ + static_cast<std::int64_t>(kBuckets);
    for (; cursor_ <= last && cursor_ < turns_end; ++cursor_) collect(cursor_, now);
    cursor_ = last;  // the current tick is not over: it is visited again
    while (!due_.empty()) {
      DeadlineHook& hook = due_.front();
      remove(hook);
      due(hook);
    }
  }

  // When expire() should be called next, seen from the last expire(); nothing if the wheel is
  // empty.
  [[nodiscard]] std::optional<Time> next() const noexcept {
    if (count_ == 0) return std::nullopt;
    for (std::int64_t tick = cursor_; tick < cursor_ + static_cast<std::int64_t>(kBuckets);
         ++tick) {
      if (!buckets_[index(tick)].empty()) return Time{(tick + 1) * kTickNs};
    }
    return std::nullopt;
  }
  // When a hook with this deadline must be looked at, at the latest one turn from now.
  [[nodiscard]] static Time due_tick(Time deadline) noexcept {
    return Time{(tick_of(deadline) + 1) * kTickNs};
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  static std::int64_t tick_of(Time time) noexcept { return time.ns / kTickNs; }
  static std::size_t index(std::int64_t tick) noexcept {
    return static_cast<std::size_t>(tick) % kBuckets;
  }
  static std::size_t bucket_of(const DeadlineHook& hook) noexcept {
    return index(tick_of(hook.deadline));
  }
  void collect(std::int64_t tick, Time now) {
    auto& bucket = buckets_[index(tick)];
    bucket.for_each([&](DeadlineHook& hook) {
      if (hook.deadline > now) return;
      bucket.remove(hook);
      hook.due = true;
      due_.push_back(hook);
    });
  }

  std::array<IntrusiveList<DeadlineHook, WheelTag>, kBuckets> buckets_;
  IntrusiveList<DeadlineHook, WheelTag> due_;
  std::int64_t cursor_;
  std::size_t count_ = 0;
};

}  // namespace godwit::call
