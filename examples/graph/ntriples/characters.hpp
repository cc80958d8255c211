// The character classes of the N-Triples grammar.
#pragma once

#include <cstdint>
#include <string_view>

namespace godwit::graph {

[[nodiscard]] constexpr bool is_upper(char c) noexcept {
  return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return is_upper(c) || (c >= 'a' && c <= 'z');
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// May stand in an IRI.
[[nodiscard]] constexpr bool is_iri_point(std::uint32_t point) noexcept {
  constexpr std::string_view kNever = "<>\"{}|^`\\";
  return point > 0x20 &&
         (point >= 0x7F || kNever.find(static_cast<char>(point)) == std::string_view::npos);
}

// True if the text begins like an absolute IRI: a letter, letters, digits, + - or ., a colon.
[[nodiscard]] constexpr bool has_scheme(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size() &&
         (is_letter(text[at]) || (at > 0 && (is_digit(text[at]) || text[at] == '+' ||
                                             text[at] == '-' || text[at] == '.')))) {
    ++at;
  }
  return at > 0 && at < text.size() && text[at] == ':';
}

// May stand in a blank node's label (PN_CHARS); fewer may stand first (PN_CHARS_U and digits).
[[nodiscard]] constexpr bool is_label_point(std::uint32_t point, bool first) noexcept {
  if (point < 0x80) {
    const char c = static_cast<char>(point);
    return is_letter(c) || is_digit(c) || c == '_' || c == ':' || (!first && c == '-');
  }
  struct PointRange {
    std::uint32_t low;
    std::uint32_t high;
  };
  constexpr PointRange kLetters[] = {{0xC0, 0xD6},     {0xD8, 0xF6},     {0xF8, 0x2FF},
                                     {0x370, 0x37D},   {0x37F, 0x1FFF},  {0x200C, 0x200D},
                                     {0x2070, 0x218F}, {0x2C00, 0x2FEF}, {0x3001, 0xD7FF},
                                     {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF}};
  for (const PointRange& range : kLetters) {
    if (point >= range.low && point <= range.high) return true;
  }
  return !first && (point == 0xB7 || (point >= 0x300 && point <= 0x36F) ||
                    (point >= 0x203F && point <= 0x2040));
}

}  // namespace godwit::graph
