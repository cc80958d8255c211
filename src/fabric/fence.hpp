// Fences, and a hint for loops that spin.
#pragma once

#include <atomic>

#include "base/sanitizers.hpp"

namespace godwit::fabric {

// Orders everything before it with everything after it, stores before loads included: for "publish,
// then look whether the other side sleeps".
inline void full_fence() noexcept {
#ifdef GODWIT_THREAD_SANITIZER
  // ThreadSanitizer does not model fences, and GCC refuses them with it; a locked operation orders
  // as strongly on the machines the sanitizer runs on.
  static thread_local std::atomic<int> word{0};
  word.exchange(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Orders the loads before it with the loads after it; free where the machine does that by itself.
inline void load_fence() noexcept {
#ifdef GODWIT_THREAD_SANITIZER
  full_fence();
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

// Orders the loads and stores before it with the stores after it; free where the machine does that
// by itself.
inline void store_fence() noexcept {
#ifdef GODWIT_THREAD_SANITIZER
  full_fence();
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

// Tells the core that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace godwit::fabric
