#include "fabric/ownership.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace godwit::fabric {
namespace {

// How often an eviction looks whether the regular has left: as long as starting a call takes.
constexpr int kLooks = 32;

// Every thread of this process passes a full fence before this returns; false: they did not.
bool fence_others() noexcept {
#ifdef GODWIT_THREAD_SANITIZER
  full_fence();
#endif
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

Ownership::Ownership() noexcept
    : can_fence_others_(
          ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {}

// The owner's, who alone hands out seats.
Ownership::Seat* Ownership::find_seat() noexcept {
  for (Seat& seat : seats_) {
    if (seat.thread == this_thread_tag()) return &seat;
    if (seat.thread == 0) {
      seat.thread = this_thread_tag();
      return &seat;
    }
  }
  return nullptr;
}

// Not while an eviction is under way: that has looked at the flag of the last regular already.
bool Ownership::become_regular() noexcept {
  if (!can_fence_others_ || evicting_.load(std::memory_order_seq_cst)) return false;
  Seat* const seat = find_seat();
  if (seat == nullptr) return false;
  complaints_.store(false, std::memory_order_relaxed);
  seat->inside.store(true, std::memory_order_relaxed);
  regular_.store(seat, std::memory_order_seq_cst);
  return true;
}

void Ownership::resign() noexcept {
  Seat* const seat = regular_.load(std::memory_order_relaxed);
  if (seat == nullptr) return;
  regular_.store(nullptr, std::memory_order_seq_cst);
  seat->inside.store(false, std::memory_order_release);
}

// The regular is read before the fence: one that came after it would not have been asked to pass
// it, and is left alone.
bool Ownership::evict() noexcept {
  if (evicting_.exchange(true, std::memory_order_seq_cst)) return false;
  bool evicted = false;
  if (Seat* seat = regular_.load(std::memory_order_seq_cst); seat != nullptr) {
    for (int look = 0; look < kLooks && seat->inside.load(std::memory_order_relaxed); ++look)
      cpu_relax();
    if (!seat->inside.load(std::memory_order_relaxed)) {
      evicted = fence_others() && !seat->inside.load(std::memory_order_acquire) &&
                regular_.load(std::memory_order_acquire) == seat;  // else it resigned meanwhile
    }
    if (evicted) {  // from here on it cannot come in, and one that is out cannot resign
      owner_.store(this_thread_tag(), std::memory_order_seq_cst);
      regular_.store(nullptr, std::memory_order_seq_cst);
    }
  }
  evicting_.store(false, std::memory_order_release);
  return evicted;
}

bool Ownership::is_attended() noexcept {
  if (owner_.load(std::memory_order_seq_cst) == 0) return false;
  Seat* const seat = regular_.load(std::memory_order_seq_cst);
  if (seat == nullptr) return true;
  if (seat->thread == this_thread_tag()) return seat->inside.load(std::memory_order_relaxed);
  complain();
  return fence_others() && seat->inside.load(std::memory_order_acquire);
}

}  // namespace godwit::fabric
