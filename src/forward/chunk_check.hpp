// Whether a chunk that came from outside (a file, another process) holds what it says.
#pragma once

#include <cstring>

#include "godwit/detail/forward/chunk.hpp"
#include "godwit/items.hpp"

namespace godwit::forward {

// Its items fill what is used of it exactly. `used` bytes of data are there; nothing else of the
// chunk is trusted.
[[nodiscard]] inline bool holds_its_items(const detail::Chunk& chunk,
                                          const detail::ItemType& type) noexcept {
  if (type.form != detail::ItemForm::tailed) {
    return std::uint64_t{chunk.count} * type.size == chunk.used;
  }
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < chunk.count; ++i) {
    detail::TailMark mark;
    if (chunk.used - at < sizeof mark) return false;
    std::memcpy(&mark, chunk.items() + at, sizeof mark);
    const std::uint64_t needed = type.tail_at + std::uint64_t{mark.elements} * type.tail_size;
    if (mark.bytes < needed || mark.bytes % type.align != 0 || mark.bytes > chunk.used - at) {
      return false;
    }
    at += mark.bytes;
  }
  return at == chunk.used;
}

}  // namespace godwit::forward
