// Copies what this core has just written.
#pragma once

#include <cstddef>
#include <cstring>

namespace godwit {

// Like memcpy, in pieces no wider than those in which compilers store values. A load that is wider
// than the stores it follows cannot be served from the core's store buffer: it waits until they
// have drained, and everything before them, such as lines that another core must first give up.
inline void copy_fresh(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  constexpr std::size_t kPiece = 16;
  constexpr std::size_t kFew = 16 * kPiece;  // beyond, the buffer has no room for all of it anyway
  if (size > kFew) {
    std::memcpy(to, from, size);
    return;
  }
  for (; size >= kPiece; size -= kPiece, to += kPiece, from += kPiece) {
    std::memcpy(to, from, kPiece);
  }
  for (std::size_t piece = kPiece / 2; piece != 0; piece /= 2) {
    if ((size & piece) == 0) continue;
    switch (piece) {
      case 8: std::memcpy(to, from, 8); break;
      case 4: std::memcpy(to, from, 4); break;
      case 2: std::memcpy(to, from, 2); break;
      default: *to = *from; break;
    }
    to += piece;
    from += piece;
  }
}

}  // namespace godwit
