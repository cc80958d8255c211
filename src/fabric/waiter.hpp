// What a thread waits on while the reactor makes progress: one flag that is set once.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/scheduler.hpp"

namespace godwit::fabric {

// One thread waits (Reactor::wait), the reactor's owner completes. Lives as long as both may touch
// it; after wait() returned true, complete() touches it no more.
class Waiter {
 public:
  Waiter() noexcept = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Wait-free; makes a system call only if the waiting thread sleeps. What was written before it
  // is visible to the thread that saw done().
  void complete() noexcept {
    const int wake_fd = wake_fd_.load(std::memory_order_relaxed);
    const auto before = state_.exchange(kDone, std::memory_order_acq_rel);
    if (before > kDone) [[unlikely]]
      wake(&state_, before, wake_fd);
  }
  [[nodiscard]] bool done() const noexcept {
    return state_.load(std::memory_order_acquire) == kDone;
  }
  // For the next wait; nobody waits or completes meanwhile.
  void reset() noexcept { state_.store(kPending, std::memory_order_relaxed); }

 private:
  friend class Reactor;
  static constexpr std::uint32_t kPending = 0;
  static constexpr std::uint32_t kDone = 1;
  static constexpr std::uint32_t kAsleep = 2;   // on the futex
  static constexpr std::uint32_t kInEpoll = 3;  // in the reactor's epoll: rung through wake_fd_

  // Returns when done, when the deadline passed, or spuriously.
  void sleep_until(Time deadline) noexcept;
  // Announces that the thread will sleep in epoll; false if it is done already.
  [[nodiscard]] bool enter_epoll(int wake_fd) noexcept;
  void leave_epoll() noexcept;
  static void wake(std::atomic<std::uint32_t>* state, std::uint32_t before, int wake_fd) noexcept;

  std::atomic<std::uint32_t> state_{kPending};
  std::atomic<int> wake_fd_{-1};
};

// A futex on `word`: sleeps while it holds `expected`, until woken or the deadline (absolute,
// CLOCK_MONOTONIC; kNever: no limit).
inline constexpr Time kNever{INT64_MAX};
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Time deadline) noexcept;
void futex_wake(std::atomic<std::uint32_t>* word) noexcept;

}  // namespace godwit::fabric
