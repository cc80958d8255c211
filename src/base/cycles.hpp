// The CPU's own counter: monotonic per core, a few nanoseconds to read, in units only a ratio to
// real time gives meaning to.
#pragma once

#include <cstdint>

namespace godwit {

[[nodiscard]] inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
#error "no cycle counter for this machine"
#endif
}

}  // namespace godwit
