// Spin, then yield, then give up: how a polling thread passes the time between events.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

#include "base/scheduler.hpp"

namespace godwit::fabric {

class Idleness {
 public:
  Idleness(std::int64_t spin_us, std::uint32_t yield_after)
      : spin_(std::chrono::microseconds(spin_us)), yield_after_(yield_after) {}

  void reset() noexcept { rounds_ = 0; }

  // Called after each round that found nothing. True once that has gone on for the spin time.
  // No pause instruction: on current cores it costs more than a poll.
  // Reads the clock and yields only now and then: two pollers that share a core must not wait out
  // each other's time slice, and one that has its own must not pay for it.
  template <class Now>
  [[nodiscard]] bool expired(Now&& now) {
    ++rounds_;
    if (spin_.count() <= 0) return true;
    if (rounds_ % kRoundsPerLook != 0) return false;
    const Time time = now();
    if (rounds_ == kRoundsPerLook) since_ = time;
    if (time - since_ >= spin_) return true;
    if (rounds_ >= yield_after_) ::sched_yield();
    return false;
  }

 private:
  static constexpr std::uint32_t kRoundsPerLook = 16;
  Duration spin_;
  std::uint32_t yield_after_;
  std::uint32_t rounds_ = 0;
  Time since_;
};

}  // namespace godwit::fabric
