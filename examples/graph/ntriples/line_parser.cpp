#include "ntriples/line_parser.hpp"

#include <algorithm>
#include <charconv>

#include "base/fail.hpp"
#include "ntriples/characters.hpp"
#include "ntriples/spelling.hpp"
#include "ntriples/utf8.hpp"

namespace godwit::graph {
namespace {

constexpr std::string_view kStringType = "^^<http://www.w3.org/2001/XMLSchema#string>";

}  // namespace

Result<std::optional<SpelledTriple>> LineParser::parse(std::string_view line) {
  line_ = line;
  at_ = 0;
  skip_blanks();
  if (at_end() || peek() == '#') return std::nullopt;
  SpelledTriple triple;
  GODWIT_TRY(triple.subject, term(Position::subject, copies_[0]));
  skip_blanks();
  GODWIT_TRY(triple.predicate, term(Position::predicate, copies_[1]));
  skip_blanks();
  GODWIT_TRY(triple.object, term(Position::object, copies_[2]));
  skip_blanks();
  if (peek() != '.') return fail(ErrorCode::bad_format, "a '.' should end the triple");
  ++at_;
  skip_blanks();
  if (!at_end() && peek() != '#') {
    return fail(ErrorCode::bad_format, "nothing but a comment may follow the '.'");
  }
  return triple;
}

Result<std::string_view> LineParser::parse_term(std::string_view text) {
  line_ = text;
  at_ = 0;
  GODWIT_TRY(const std::string_view spelling, term(Position::object, copies_[0]));
  if (!at_end()) return fail(ErrorCode::bad_format, "something follows the term");
  return spelling;
}

std::size_t LineParser::column() const noexcept {
  const std::string_view before = line_.substr(0, at_);
  return 1 + static_cast<std::size_t>(std::ranges::count_if(
                 before, [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U; }));
}

Result<std::string_view> LineParser::term(Position position, std::string& copy) {
  if (peek() == '<') return iri(copy);
  if (peek() == '_' && position != Position::predicate) return blank_node();
  if (peek() == '"' && position == Position::object) return literal(copy);
  switch (position) {
    case Position::subject:
      return fail(ErrorCode::bad_format, "a subject is an IRI in <> or a blank node _:name");
    case Position::predicate: return fail(ErrorCode::bad_format, "a predicate is an IRI in <>");
    case Position::object: break;
  }
  return fail(ErrorCode::bad_format,
              "an object is an IRI in <>, a blank node _:name or a literal in \"\"");
}

Result<std::string_view> LineParser::iri(std::string& copy) {
  Piece piece{at_, copy};
  GODWIT_CHECK(iri_rest(piece));
  return finish(piece);
}

// From '<' to '>', both included.
Status LineParser::iri_rest(Piece& piece) {
  ++at_;
  if (piece.copied) piece.copy += '<';
  if (!has_scheme(line_.substr(at_))) {
    return fail(ErrorCode::bad_format, "an IRI begins with a scheme, as in <http://...>");
  }
  while (!at_end() && peek() != '>') {
    const std::size_t before = at_;
    const bool escaped = peek() == '\\';
    GODWIT_TRY(const std::uint32_t point, escaped ? escaped_point(false) : utf8_point());
    if (!is_iri_point(point)) {
      at_ = before;
      return fail(ErrorCode::bad_format, "an IRI cannot contain this character, not even escaped");
    }
    if (escaped || is_control(point)) diverge(piece, before);
    if (piece.copied) append_iri_point(piece.copy, point);
  }
  if (at_end()) return fail(ErrorCode::bad_format, "the IRI has no '>' at its end");
  ++at_;
  if (piece.copied) piece.copy += '>';
  return {};
}

Result<std::string_view> LineParser::blank_node() {
  const std::size_t begin = at_;
  ++at_;
  if (peek() != ':') return fail(ErrorCode::bad_format, "a blank node begins with _:");
  ++at_;
  std::size_t end = at_;  // behind the last character that is no dot: dots do not end a label
  while (!at_end()) {
    const CodePoint point = decode_utf8(line_.substr(at_));
    const bool first = at_ == begin + 2;
    if (point.bytes == 0 ||
        !(is_label_point(point.value, first) || (!first && point.value == '.'))) {
      break;
    }
    at_ += point.bytes;
    if (point.value != '.') end = at_;
  }
  at_ = end;
  if (end == begin + 2) return fail(ErrorCode::bad_format, "the blank node has no label");
  return line_.substr(begin, end - begin);
}

Result<std::string_view> LineParser::literal(std::string& copy) {
  Piece piece{at_, copy};
  GODWIT_CHECK(quoted(piece));
  if (peek() == '@') {
    GODWIT_CHECK(language(piece));
  } else if (peek() == '^') {
    GODWIT_CHECK(datatype(piece));
  }
  return finish(piece);
}

// From '"' to '"', both included.
Status LineParser::quoted(Piece& piece) {
  ++at_;
  while (!at_end() && peek() != '"') {
    const std::size_t before = at_;
    const bool escaped = peek() == '\\';
    GODWIT_TRY(const std::uint32_t point, escaped ? escaped_point(true) : utf8_point());
    if (escaped || is_control(point)) diverge(piece, before);
    if (piece.copied) append_literal_point(piece.copy, point);
  }
  if (at_end()) return fail(ErrorCode::bad_format, "the literal has no '\"' at its end");
  ++at_;
  if (piece.copied) piece.copy += '"';
  return {};
}

Status LineParser::language(Piece& piece) {
  const std::size_t begin = at_;
  ++at_;
  for (bool first = true; first || peek() == '-'; first = false) {
    if (!first) ++at_;
    const std::size_t part = at_;
    while (is_letter(peek()) || (!first && is_digit(peek()))) ++at_;
    if (at_ == part) {
      return fail(ErrorCode::bad_format, "a language is written like @en or @en-GB");
    }
  }
  const std::string_view tag = line_.substr(begin, at_ - begin);
  if (std::ranges::any_of(tag, is_upper)) diverge(piece, begin);
  if (piece.copied) std::ranges::transform(tag, std::back_inserter(piece.copy), to_lower);
  return {};
}

Status LineParser::datatype(Piece& piece) {
  const std::size_t begin = at_;
  const std::size_t length = piece.copied ? piece.copy.size() : begin - piece.begin;
  if (line_.substr(at_, 3) != "^^<") {
    return fail(ErrorCode::bad_format, "a datatype is written like ^^<http://...>");
  }
  at_ += 2;
  if (piece.copied) piece.copy += "^^";
  GODWIT_CHECK(iri_rest(piece));
  if (!piece.copied && line_.substr(begin, at_ - begin) == kStringType) {
    diverge(piece, begin);
  } else if (piece.copied && std::string_view(piece.copy).substr(length) == kStringType) {
    piece.copy.resize(length);
  }
  return {};
}

// \uXXXX and \UXXXXXXXX everywhere, \t and the like in literals.
Result<std::uint32_t> LineParser::escaped_point(bool in_literal) {
  constexpr std::string_view kLetters = "tbnrf\"'\\";
  constexpr std::string_view kMeanings = "\t\b\n\r\f\"'\\";
  const char kind = at_ + 1 < line_.size() ? line_[at_ + 1] : '\0';
  if (const std::size_t known = kLetters.find(kind);
      in_literal && kind != '\0' && known != std::string_view::npos) {
    at_ += 2;
    return static_cast<std::uint32_t>(kMeanings[known]);
  }
  if (kind != 'u' && kind != 'U') {
    return fail(ErrorCode::bad_format, "there is no such escape{}",
                in_literal ? "" : " in an IRI; only \\u and \\U are");
  }
  const std::string_view digits = line_.substr(at_ + 2, kind == 'u' ? 4 : 8);
  std::uint32_t point = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), point, 16);
  if (error != std::errc() || end != digits.end() || digits.size() != (kind == 'u' ? 4U : 8U)) {
    return fail(ErrorCode::bad_format, "\\{} needs {} hexadecimal digits", kind,
                kind == 'u' ? 4 : 8);
  }
  if (!is_scalar_value(point)) {
    return fail(ErrorCode::bad_format, "\\{}{} is no character", kind, digits);
  }
  at_ += 2 + digits.size();
  return point;
}

Result<std::uint32_t> LineParser::utf8_point() {
  const CodePoint point = decode_utf8(line_.substr(at_));
  if (point.bytes == 0) return fail(ErrorCode::bad_format, "the text is not UTF-8 here");
  if (point.value == '\r') {
    return fail(ErrorCode::bad_format, "a carriage return inside a term; write \\r");
  }
  at_ += point.bytes;
  return point.value;
}

void LineParser::diverge(Piece& piece, std::size_t end) const {
  if (piece.copied) return;
  piece.copy.assign(line_.substr(piece.begin, end - piece.begin));
  piece.copied = true;
}

std::string_view LineParser::finish(const Piece& piece) const {
  return piece.copied ? std::string_view(piece.copy) : line_.substr(piece.begin, at_ - piece.begin);
}

void LineParser::skip_blanks() noexcept {
  while (peek() == ' ' || peek() == '\t') ++at_;
}

}  // namespace godwit::graph
