// Bytes that lie in several places and count as one sequence: the parts of a message, of an object.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "base/bytes.hpp"

namespace godwit {

[[nodiscard]] inline std::size_t total_size(std::span<const Bytes> parts) noexcept {
  std::size_t size = 0;
  for (const Bytes part : parts) size += part.size();
  return size;
}

// `to` has room for all of them.
inline void gather(std::span<const Bytes> parts, std::byte* to) noexcept {
  for (const Bytes part : parts) {
    if (part.empty()) continue;
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

}  // namespace godwit
