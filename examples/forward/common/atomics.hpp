// What kernels do to memory that others write too: the same words for CPU threads and for a GPU.
#pragma once

#include <atomic>
#include <cstdint>

#include "godwit/kernel.hpp"

namespace gallery {

// Adds in a fold: on a GPU many threads fold at once, on a CPU rank one does.
GODWIT_KERNEL inline void fold_add(std::uint64_t& sum, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(&sum), static_cast<unsigned long long>(value));
#else
  sum += value;
#endif
}

// Counts in a kernel, which many threads run at once.
GODWIT_KERNEL inline void count(std::uint32_t& counter) {
#if defined(__CUDA_ARCH__)
  atomicAdd(&counter, 1U);
#else
  std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
#endif
}

// Puts `value` where `expected` stands; whether it stood there. Of many threads that try, one does.
GODWIT_KERNEL inline bool claim(std::uint32_t& word, std::uint32_t expected, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return atomicCAS(&word, expected, value) == expected;
#else
  return std::atomic_ref(word).compare_exchange_strong(expected, value, std::memory_order_relaxed);
#endif
}

}  // namespace gallery
