// Spin, give the core away now and then, give up: how a polling thread passes the time between
// events.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/scheduler.hpp"

namespace godwit::fabric {

// How often to look at the clock, and to give the core away, learnt from what either brings.
//
// A round that makes system calls takes a hundred times as long as one that reads shared memory, so
// rounds say nothing of time. And pollers that share a core must not wait out each other's time
// slices, while one that has its own must not pay for yielding: a yield that lets somebody run
// takes its time. One thread at a time.
class Courtesy {
 public:
  // Rounds until the next look.
  [[nodiscard]] std::uint32_t rounds_per_look() const noexcept { return rounds_per_look_; }

  // A look at the clock, `rounds` after the last one of this stretch; 0: the first.
  template <class Yield, class Now>
  void look(Time time, std::uint32_t rounds, Yield&& yield, Now&& now) {
    if (rounds != 0) adjust(time - looked_at_);
    looked_at_ = time;
    if (time - yielded_at_ < interval_) return;
    yield();
    yielded_at_ = now();
    looked_at_ = yielded_at_;
    const bool somebody_ran = yielded_at_ - time > kAlone;
    interval_ = somebody_ran ? kShared : std::min(interval_ * 2, kOwn);
  }

 private:
  static constexpr std::uint32_t kMaxRounds = 16;
  static constexpr Duration kLookEvery = std::chrono::microseconds(1);
  // Longer than a yield to nobody takes, shorter than anybody runs.
  static constexpr Duration kAlone = std::chrono::nanoseconds(1500);
  static constexpr Duration kShared = std::chrono::microseconds(1);
  static constexpr Duration kOwn = std::chrono::microseconds(64);

  void adjust(Duration took) noexcept {
    if (took > 2 * kLookEvery) {
      rounds_per_look_ = std::max(rounds_per_look_ / 2, 1U);
    } else if (took < kLookEvery / 2) {
      rounds_per_look_ = std::min(rounds_per_look_ * 2, kMaxRounds);
    }
  }

  std::uint32_t rounds_per_look_ = kMaxRounds;
  Duration interval_ = kOwn;
  Time looked_at_;
  Time yielded_at_;
};

class Idleness {
 public:
  Idleness(std::int64_t spin_us, Courtesy& courtesy)
      : spin_(std::chrono::microseconds(spin_us)), courtesy_(courtesy) {}

  void reset() noexcept {
    rounds_ = 0;
    looks_ = 0;
  }

  // Called after each round that found nothing. True once that has gone on for the spin time.
  // No pause instruction: on current cores it costs more than a poll.
  template <class Now>
  [[nodiscard]] bool expired(Now&& now) {
    if (spin_.count() <= 0) return true;
    if (++rounds_ < courtesy_.rounds_per_look()) return false;
    const Time time = now();
    if (looks_ == 0) since_ = time;
    if (time - since_ >= spin_) return true;
    courtesy_.look(time, looks_++ == 0 ? 0 : rounds_, [] { ::sched_yield(); }, now);
    rounds_ = 0;
    return false;
  }

 private:
  Duration spin_;
  Courtesy& courtesy_;
  std::uint32_t rounds_ = 0;
  std::uint32_t looks_ = 0;
  Time since_;
};

}  // namespace godwit::fabric
