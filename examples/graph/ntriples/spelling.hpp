// Canonical spellings: one term, one text, so that equal terms are equal strings.
//
//   <http://a.example/b>     an IRI, escapes resolved
//   _:b0                     a blank node
//   "text"                   a string; also what was written as "text"^^xsd:string
//   "text"@en-gb             with a language, in lower case
//   "7"^^<http://...#int>    with a datatype; the lexical form stays as it was
//
// Inside, \t \b \n \r \f \" \\ stand for themselves, other control characters are \u00XX, and all
// else is UTF-8. So a spelling has no control character in it and is safe on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::graph {

[[nodiscard]] constexpr bool is_control(std::uint32_t point) noexcept {
  return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

// Appends one code point of a literal, or of an IRI, as it stands in a canonical spelling.
void append_literal_point(std::string& out, std::uint32_t point);
void append_iri_point(std::string& out, std::uint32_t point);

// A string literal with this text, which is UTF-8.
[[nodiscard]] std::string spell_string(std::string_view text);
[[nodiscard]] std::string spell_iri(std::string_view iri);
[[nodiscard]] std::string spell_integer(std::int64_t value);

// What a canonical spelling is about: the IRI without brackets, a literal's text with its escapes
// resolved, a blank node as it is.
[[nodiscard]] std::string plain_text(std::string_view spelling);
// True for literals without language and datatype.
[[nodiscard]] bool is_string(std::string_view spelling) noexcept;

}  // namespace godwit::graph
