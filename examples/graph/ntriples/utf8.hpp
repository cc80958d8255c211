// UTF-8, one code point at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::graph {

struct CodePoint {
  std::uint32_t value = 0;
  std::uint32_t bytes = 0;  // 0: malformed
};

[[nodiscard]] constexpr bool is_scalar_value(std::uint32_t point) noexcept {
  return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

// The first code point of a text that is not empty. Overlong forms, surrogates and cut sequences
// are malformed.
[[nodiscard]] constexpr CodePoint decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::uint32_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t point = first & (0x7FU >> bytes);
  for (std::uint32_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    point = point << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  return overlong || !is_scalar_value(point) ? CodePoint{} : CodePoint{point, bytes};
}

// Appends a scalar value.
inline void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](std::uint32_t shift) {
    out += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace godwit::graph
