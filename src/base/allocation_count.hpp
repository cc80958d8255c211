// Counts heap allocations of the whole process, for tests that show there are none. Linking
// godwit_allocation_count replaces the global operator new; sanitized builds, which have their own,
// count nothing (see counts_allocations).
#pragma once

#include <cstdint>

#include "base/sanitizers.hpp"

namespace godwit {

// By all threads, since the process began.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

inline constexpr bool counts_allocations = !kSanitized;

}  // namespace godwit
