#include "ntriples/spelling.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "ntriples/utf8.hpp"

namespace godwit::graph {

void append_literal_point(std::string& out, std::uint32_t point) {
  switch (point) {
    case '\t': out += "\\t"; return;
    case '\b': out += "\\b"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\f': out += "\\f"; return;
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    default: append_iri_point(out, point);
  }
}

void append_iri_point(std::string& out, std::uint32_t point) {
  if (is_control(point)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04X}", point);
  } else {
    append_utf8(out, point);
  }
}

std::string spell_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    append_literal_point(out, point.bytes == 0 ? 0xFFFD : point.value);
    text.remove_prefix(point.bytes == 0 ? 1 : point.bytes);
  }
  return out + "\"";
}

std::string spell_iri(std::string_view iri) {
  return fmt::format("<{}>", iri);
}

std::string spell_integer(std::int64_t value) {
  return fmt::format("\"{}\"^^<http://www.w3.org/2001/XMLSchema#integer>", value);
}

namespace {

// The escape at the beginning of `text`, resolved into `out`; gives its length.
std::size_t unescape(std::string& out, std::string_view text) {
  const char kind = text.size() > 1 ? text[1] : '\\';
  switch (kind) {
    case 't': out += '\t'; return 2;
    case 'b': out += '\b'; return 2;
    case 'n': out += '\n'; return 2;
    case 'r': out += '\r'; return 2;
    case 'f': out += '\f'; return 2;
    case 'u': {
      std::uint32_t point = 0;
      const std::string_view digits = text.substr(2, 4);
      std::from_chars(digits.begin(), digits.end(), point, 16);
      append_utf8(out, point);
      return 2 + digits.size();
    }
    default: out += kind; return 2;
  }
}

}  // namespace

std::string plain_text(std::string_view spelling) {
  if (spelling.starts_with('<')) {
    spelling = spelling.substr(1, spelling.size() - 2);
  } else if (spelling.starts_with('"')) {
    spelling = spelling.substr(1, spelling.rfind('"') - 1);
  }
  std::string out;
  while (!spelling.empty()) {
    std::size_t used = 1;
    if (spelling.front() == '\\') {
      used = unescape(out, spelling);
    } else {
      out += spelling.front();
    }
    spelling.remove_prefix(std::min(used, spelling.size()));
  }
  return out;
}

bool is_string(std::string_view spelling) noexcept {
  return spelling.size() >= 2 && spelling.front() == '"' && spelling.back() == '"';
}

}  // namespace godwit::graph
