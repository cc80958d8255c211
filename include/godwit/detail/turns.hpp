// What waiting for an object takes, besides the object.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "godwit/outcome.hpp"

namespace godwit::detail {

// What is left of a time that began then: at least a nanosecond, as zero means the default.
inline std::chrono::nanoseconds time_left(std::chrono::nanoseconds at_most,
                                          std::chrono::steady_clock::time_point since) {
  if (at_most.count() == 0) return at_most;
  const std::chrono::nanoseconds gone = std::chrono::steady_clock::now() - since;
  return std::max(at_most - gone, std::chrono::nanoseconds(1));
}

// Several threads want the same, and one of them gets it for all; the others wait for that, or for
// their turn to try. All under a lock of the owner's.
class Turns {
 public:
  // Waits until `is_there`, or nobody tries; takes what that took off `at_most`. Zero: it waits for
  // as long as others try. False: time is up.
  template <class IsThere>
  [[nodiscard]] bool take(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds& at_most,
                          const IsThere& is_there) {
    if (is_there() || !taken_) return true;
    const auto free = [&] { return is_there() || !taken_; };
    if (at_most.count() == 0) {
      left_.wait(lock, free);
      return true;
    }
    // What is further away than any wait takes would overflow.
    constexpr std::chrono::nanoseconds kMost = std::chrono::hours(24 * 365);
    const auto since = std::chrono::steady_clock::now();
    if (!left_.wait_for(lock, std::min(at_most, kMost), free)) return false;
    at_most = time_left(at_most, since);
    return true;
  }

  // This thread's turn. Gives up the lock, for the owner to take again; ends with the lock held.
  class Mine {
   public:
    Mine(Turns& turns, std::unique_lock<std::mutex>& lock) noexcept : turns_(turns), lock_(lock) {
      turns_.taken_ = true;
      lock_.unlock();
    }
    Mine(const Mine&) = delete;
    Mine& operator=(const Mine&) = delete;
    ~Mine() {
      if (!lock_.owns_lock()) lock_.lock();
      turns_.taken_ = false;
      turns_.left_.notify_all();
    }

   private:
    Turns& turns_;
    std::unique_lock<std::mutex>& lock_;
  };

 private:
  std::condition_variable left_;
  bool taken_ = false;
};

inline Error not_in_time(const Handle& handle) {
  return {ErrorCode::deadline, "object " + handle.object.short_hex() +
                                   " was not there in time, and another thread still waits for it"};
}

// An error that is not a call's, in a future.
inline Failure failure_of(Error error) {
  const auto ending = [&] {
    switch (error.code) {
      case ErrorCode::app_error: return Ending::app_error;
      case ErrorCode::cancelled: return Ending::cancelled;
      case ErrorCode::deadline: return Ending::deadline;
      case ErrorCode::node_lost: return Ending::node_lost;
      default: return Ending::rejected;
    }
  };
  return {ending(), error.code, false, std::move(error.message)};
}

}  // namespace godwit::detail
