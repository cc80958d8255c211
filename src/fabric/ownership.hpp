// Who may touch the state of a reactor: at most one thread at a time.
//
// A thread that comes back again and again can become the regular. It then enters and leaves with
// plain loads and stores: a locked instruction would wait until everything written before it, such
// as a message in a peer's memory, has left the core, and that takes longer than making a call. The
// others pay instead: whoever wants in makes all threads of the process pass a fence (membarrier),
// after which it can tell whether the regular is inside, and evicts it if not.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/sanitizers.hpp"
#include "fabric/fence.hpp"
#include "fabric/thread_tag.hpp"

namespace godwit::fabric {

// Any thread, unless a member says otherwise.
class Ownership {
 public:
  // Threads that can be the regular, one at a time, in the life of this object; the ones after
  // these enter as visitors always.
  static constexpr std::size_t kMaxRegulars = 16;

  Ownership() noexcept;

  // False: another thread owns, or is the regular, or this one owns already.
  [[nodiscard]] bool try_enter() noexcept {
    Seat* const seat = regular_.load(std::memory_order_acquire);
    return seat != nullptr && seat->thread == this_thread_tag() ? enter_as_regular(*seat)
                                                                : enter_as_visitor();
  }
  // Takes the place of a regular that is not inside. False if there is none, or if it is inside;
  // otherwise microseconds.
  [[nodiscard]] bool try_evict() noexcept {
    return regular_.load(std::memory_order_relaxed) != nullptr && evict();
  }
  // Tells the regular that somebody could not get in because of it.
  void complain() noexcept { complaints_.store(true, std::memory_order_relaxed); }

  // The owner's. What was written before is visible to the next owner.
  void leave() noexcept {
    Seat* const seat = regular_.load(std::memory_order_relaxed);
    if (seat != nullptr) {
      seat->inside.store(false, std::memory_order_release);
      light_fence();
    } else {
      owner_.store(0, std::memory_order_seq_cst);
    }
  }
  // The owner's: makes it the regular. False where that is not possible, or not now.
  bool become_regular() noexcept;
  // The owner's: it stays the owner, but is not the regular any more. No effect on a visitor.
  void resign() noexcept;
  // The owner's: whether it is the regular, and if so whether others complained.
  [[nodiscard]] bool has_regular() const noexcept {
    return regular_.load(std::memory_order_relaxed) != nullptr;
  }
  [[nodiscard]] bool has_complaints() const noexcept {
    return complaints_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_mine() const noexcept {
    // In this order: an eviction writes the new owner first.
    const Seat* const seat = regular_.load(std::memory_order_acquire);
    if (seat != nullptr)
      return seat->thread == this_thread_tag() && seat->inside.load(std::memory_order_relaxed);
    return owner_.load(std::memory_order_relaxed) == this_thread_tag();
  }
  // True: what the caller stored before (seq_cst) is seen by an owner when it leaves.
  [[nodiscard]] bool is_attended() noexcept;
  // A hint, out of date at once: whether somebody is inside.
  [[nodiscard]] bool is_occupied() const noexcept {
    const Seat* const seat = regular_.load(std::memory_order_acquire);
    return seat != nullptr ? seat->inside.load(std::memory_order_relaxed)
                           : owner_.load(std::memory_order_relaxed) != 0;
  }
  // The owner or the regular, 0 for none.
  [[nodiscard]] std::uintptr_t owner() const noexcept {
    return owner_.load(std::memory_order_relaxed);
  }

 private:
  // A flag for each thread: one that comes late to its seat must not touch that of its successor.
  struct Seat {
    std::uintptr_t thread = 0;  // set once
    std::atomic<bool> inside{false};
  };

  // Orders the regular's own accesses; enough only with the membarrier of the others.
  static void light_fence() noexcept {
#ifdef GODWIT_THREAD_SANITIZER
    full_fence();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }

  [[nodiscard]] bool enter_as_visitor() noexcept {
    std::uintptr_t nobody = 0;
    return owner_.load(std::memory_order_relaxed) == 0 &&
           owner_.compare_exchange_strong(nobody, this_thread_tag(), std::memory_order_seq_cst);
  }
  // The order of the two looks matters: an eviction first clears regular_, then evicting_.
  [[nodiscard]] bool enter_as_regular(Seat& seat) noexcept {
    if (seat.inside.load(std::memory_order_relaxed)) [[unlikely]]
      return false;  // it owns already
    seat.inside.store(true, std::memory_order_relaxed);
    light_fence();
    if (!evicting_.load(std::memory_order_acquire) &&
        regular_.load(std::memory_order_relaxed) == &seat) [[likely]]
      return true;
    seat.inside.store(false, std::memory_order_release);
    return enter_as_visitor();
  }
  [[nodiscard]] bool evict() noexcept;
  [[nodiscard]] Seat* find_seat() noexcept;

  // A thread's tag, 0 for nobody. The regular's for as long as it is the regular.
  alignas(64) std::atomic<std::uintptr_t> owner_{0};
  std::atomic<Seat*> regular_{nullptr};
  std::atomic<bool> evicting_{false};  // by one thread at a time
  std::atomic<bool> complaints_{false};
  std::array<Seat, kMaxRegulars> seats_;
  bool can_fence_others_ = false;
};

}  // namespace godwit::fabric
