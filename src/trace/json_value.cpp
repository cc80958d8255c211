#include "trace/json_value.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/fail.hpp"

namespace godwit::trace {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A lone surrogate has no UTF-8; it becomes U+FFFD like any other nonsense.
void append_utf8(std::string& out, std::uint32_t point) {
  if (point >= 0xD800 && point <= 0xDFFF) point = 0xFFFD;
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | ((point >> shift) & 0x3FU));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0U | (point >> 6U));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0U | (point >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | (point >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

// Front to back; `at_` is what the next read looks at.
class JsonValue::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonValue> document() {
    GODWIT_TRY(JsonValue value, this->value(0));
    skip_spaces();
    if (at_ < text_.size()) return wrong("nothing more");
    return value;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  tl::unexpected<Error> wrong(std::string_view expected) const {
    return fail(ErrorCode::bad_format, "not JSON: expected {} at byte {} of {}", expected, at_,
                text_.size());
  }

  Result<JsonValue> value(std::size_t depth) {
    if (depth > kMaxDepth) return wrong("less depth");
    skip_spaces();
    JsonValue made;
    switch (peek()) {
      case '{': return object(depth);
      case '[': return array(depth);
      case '"': {
        made.kind_ = Kind::string;
        GODWIT_TRY(made.text_, string());
        return made;
      }
      default: break;
    }
    if (take("null")) return made;
    made.truth_ = take("true");
    if (made.truth_ || take("false")) {
      made.kind_ = Kind::boolean;
      return made;
    }
    made.kind_ = Kind::number;
    GODWIT_TRY(made.text_, number());
    return made;
  }

  Result<JsonValue> object(std::size_t depth) {
    JsonValue made;
    made.kind_ = Kind::object;
    take("{");
    skip_spaces();
    if (take("}")) return made;
    while (true) {
      skip_spaces();
      GODWIT_TRY(std::string key, string());
      skip_spaces();
      if (!take(":")) return wrong("':'");
      GODWIT_TRY(JsonValue member, value(depth + 1));
      made.members_.emplace_back(std::move(key), std::move(member));
      skip_spaces();
      if (take("}")) return made;
      if (!take(",")) return wrong("',' or '}'");
    }
  }

  Result<JsonValue> array(std::size_t depth) {
    JsonValue made;
    made.kind_ = Kind::array;
    take("[");
    skip_spaces();
    if (take("]")) return made;
    while (true) {
      GODWIT_TRY(JsonValue item, value(depth + 1));
      made.items_.push_back(std::move(item));
      skip_spaces();
      if (take("]")) return made;
      if (!take(",")) return wrong("',' or ']'");
    }
  }

  Result<std::string> number() {
    const std::size_t start = at_;
    take("-");
    const std::size_t whole = at_;
    while (is_digit(peek())) ++at_;
    if (at_ == whole || (text_[whole] == '0' && at_ > whole + 1)) return wrong("a value");
    if (take(".") && !digits()) return wrong("a digit");
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      if (!digits()) return wrong("a digit");
    }
    return std::string(text_.substr(start, at_ - start));
  }
  bool digits() {
    const std::size_t start = at_;
    while (is_digit(peek())) ++at_;
    return at_ > start;
  }

  Result<std::string> string() {
    if (!take("\"")) return wrong("'\"'");
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) break;
      ++at_;
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (!escape(out)) return wrong("an escape");
    }
    return wrong("the end of a string");
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take("u")) {
      const auto high = four_digits();
      if (!high) return false;
      std::uint32_t point = *high;
      if (point >= 0xD800 && point < 0xDC00 && take("\\u")) {
        const auto low = four_digits();
        if (!low) return false;
        if (*low >= 0xDC00 && *low < 0xE000) {
          point = 0x10000 + ((point - 0xD800) << 10U) + (*low - 0xDC00);
        }
      }
      append_utf8(out, point);
      return true;
    }
    const std::size_t found = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (found == std::string_view::npos) return false;
    out += kMeanings[found];
    ++at_;
    return true;
  }
  std::optional<std::uint32_t> four_digits() {
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t point = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), point, 16);
    if (digits.size() < 4 || error != std::errc{} || end != digits.data() + 4) return std::nullopt;
    at_ += 4;
    return point;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<JsonValue> JsonValue::parse(std::string_view text) {
  return Parser(text).document();
}

const JsonValue& JsonValue::operator[](std::string_view key) const noexcept {
  static const JsonValue kMissing;
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  return found == members_.end() ? kMissing : found->second;
}

std::string_view JsonValue::text() const noexcept {
  return kind_ == Kind::string ? std::string_view(text_) : std::string_view();
}

double JsonValue::number() const noexcept {
  double read = 0;
  if (kind_ == Kind::number) std::from_chars(text_.data(), text_.data() + text_.size(), read);
  return read;
}

std::uint64_t JsonValue::count() const noexcept {
  std::uint64_t read = 0;
  if (kind_ != Kind::number) return 0;
  const char* const end = text_.data() + text_.size();
  const auto [stopped, error] = std::from_chars(text_.data(), end, read);
  return error == std::errc{} && stopped == end ? read : 0;
}

}  // namespace godwit::trace
