#include "fabric/waiter.hpp"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace godwit::fabric {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Time deadline) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute time, so that a spurious return does not stretch the wait.
  timespec until{deadline.ns / 1'000'000'000, deadline.ns % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
            deadline == kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(std::atomic<std::uint32_t>* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

void Waiter::sleep_until(Time deadline) noexcept {
  auto expected = kPending;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel)) return;
  futex_wait(state_, kAsleep, deadline);
  expected = kAsleep;
  state_.compare_exchange_strong(expected, kPending, std::memory_order_acq_rel);
}

bool Waiter::enter_epoll(int wake_fd) noexcept {
  wake_fd_.store(wake_fd, std::memory_order_relaxed);
  auto expected = kPending;
  return state_.compare_exchange_strong(expected, kInEpoll, std::memory_order_acq_rel);
}

void Waiter::leave_epoll() noexcept {
  auto expected = kInEpoll;
  state_.compare_exchange_strong(expected, kPending, std::memory_order_acq_rel);
}

// The waiter may be gone by now: its address only names the futex, and the descriptor was read
// before the state changed.
void Waiter::wake(std::atomic<std::uint32_t>* state, std::uint32_t before, int wake_fd) noexcept {
  if (before == kAsleep) futex_wake(state);
  if (before == kInEpoll) ::eventfd_write(wake_fd, 1);
}

}  // namespace godwit::fabric
