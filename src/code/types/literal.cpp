#include "code/types/literal.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "code/types/text.hpp"

namespace godwit::code {
namespace {

constexpr std::string_view kSpaces = " \t\n\r";

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | point >> 6);
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3f));
    put(0x80 | (point >> 6 & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Literal> whole() {
    GODWIT_TRY(Literal literal, value());
    skip_spaces();
    if (at_ != text_.size()) return wrong("expected the end");
    return literal;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorCode::invalid_argument, "{} at character {} of '{}'", what, at_ + 1,
                text_.substr(0, 80));
  }
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size()); }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Literal> value() {
    if (depth_ == kLiteralDepthLimit) return wrong("a value nested too deeply");
    ++depth_;
    auto literal = accept('[') ? list() : accept('{') ? object() : accept('"') ? quoted() : word();
    --depth_;
    return literal;
  }

  Result<Literal> list() {
    Literal literal{.kind = Literal::Kind::list};
    if (accept(']')) return literal;
    do {
      GODWIT_TRY(Literal item, value());
      literal.items.push_back(std::move(item));
    } while (accept(','));
    if (!accept(']')) return wrong("expected , or ]");
    return literal;
  }

  Result<Literal> object() {
    Literal literal{.kind = Literal::Kind::object};
    if (accept('}')) return literal;
    do {
      GODWIT_TRY(Literal key, accept('"') ? quoted() : word());
      if (!accept(':')) return wrong("expected :");
      GODWIT_TRY(Literal item, value());
      literal.keys.push_back(std::move(key.text));
      literal.items.push_back(std::move(item));
    } while (accept(','));
    if (!accept('}')) return wrong("expected , or }");
    return literal;
  }

  Result<Literal> word() {
    skip_spaces();
    // "hex:" is the one colon inside a word.
    const std::size_t prefix = text_.substr(at_, 4) == "hex:" ? 4 : 0;
    const std::size_t end = std::min(text_.find_first_of(",:]}[{\"", at_ + prefix), text_.size());
    std::string_view found = text_.substr(at_, end - at_);
    const std::size_t last = found.find_last_not_of(kSpaces);
    if (last == std::string_view::npos) return wrong("expected a value");
    found = found.substr(0, last + 1);
    at_ += found.size();
    return Literal{.kind = Literal::Kind::word, .text = std::string(found)};
  }

  Result<Literal> quoted() {
    Literal literal{.kind = Literal::Kind::quoted};
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (c == '\\') {
        GODWIT_CHECK(escape(literal.text));
      } else {
        literal.text.push_back(c);
      }
    }
    if (at_ == text_.size()) return wrong("expected a closing quote");
    ++at_;
    return literal;
  }

  Status escape(std::string& out) {
    if (at_ == text_.size()) return wrong("expected a character after the backslash");
    const char c = text_[at_++];
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out.push_back(kTo[i]);
      return {};
    }
    if (c != 'u') return wrong("unknown escape");
    GODWIT_TRY(std::uint32_t point, code_unit());
    if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      GODWIT_TRY(const std::uint32_t low, code_unit());
      if (low < 0xdc00 || low > 0xdfff)
        return wrong("expected the second half of a surrogate pair");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point >= 0xd800 && point <= 0xdfff) return wrong("half a surrogate pair");
    append_utf8(out, point);
    return {};
  }

  Result<std::uint32_t> code_unit() {
    std::uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
      const std::size_t digit =
          at_ < text_.size() ? kDigits.find(text_[at_]) : std::string_view::npos;
      if (digit == std::string_view::npos) return wrong("expected four hexadecimal digits");
      unit = unit << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    return unit;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

std::string Literal::shown() const {
  switch (kind) {
    case Kind::word: return "'" + text.substr(0, 60) + "'";
    case Kind::quoted: return "\"" + text.substr(0, 60) + "\"";
    case Kind::list: return fmt::format("a list of {}", items.size());
    case Kind::object: break;
  }
  return fmt::format("an object of {}", items.size());
}

Result<Literal> parse_literal(std::string_view text) {
  return Reader(text).whole();
}

}  // namespace godwit::code
