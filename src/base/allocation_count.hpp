// Counts heap allocations of the whole process, for tests that show there are none. Linking
// godwit_allocation_count replaces the global operator new; sanitized builds, which have their own,
// count nothing (see counts_allocations).
#pragma once

#include <cstdint>

namespace godwit {

// By all threads, since the process began.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif

}  // namespace godwit
