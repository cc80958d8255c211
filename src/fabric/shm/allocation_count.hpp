// For tests: how often this program allocated with operator new. Linking the source replaces the
// global operators.
#pragma once

#include <cstddef>

namespace godwit::fabric::shm {

[[nodiscard]] std::size_t allocation_count() noexcept;

}  // namespace godwit::fabric::shm
