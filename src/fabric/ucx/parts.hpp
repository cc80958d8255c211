// The parts of a message's body, as send() gets them.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "base/bytes.hpp"

namespace godwit::fabric::ucx {

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

}  // namespace godwit::fabric::ucx
