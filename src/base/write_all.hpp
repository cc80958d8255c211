// Bytes to a file descriptor.
#pragma once

#include "base/bytes.hpp"

namespace godwit {

// Writes all of them, in as many parts as it takes; blocks as the descriptor does. False: `errno`
// says why, and some may have been written.
[[nodiscard]] bool write_all(int fd, Bytes bytes) noexcept;

}  // namespace godwit
