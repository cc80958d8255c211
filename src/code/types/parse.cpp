// A recursive-descent parser of the one canonical spelling: any other spelling is an error, so that
// equal types have equal strings.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/fail.hpp"
#include "code/types/type.hpp"
#include "godwit/handle.hpp"

namespace godwit::code {
namespace {

struct Scalar {
  std::string_view word;
  TypeKind kind;
  std::uint32_t size;
};
constexpr std::array<Scalar, 11> kScalars = {{{"bool", TypeKind::boolean, 1},
                                              {"i8", TypeKind::i8, 1},
                                              {"i16", TypeKind::i16, 2},
                                              {"i32", TypeKind::i32, 4},
                                              {"i64", TypeKind::i64, 8},
                                              {"u8", TypeKind::u8, 1},
                                              {"u16", TypeKind::u16, 2},
                                              {"u32", TypeKind::u32, 4},
                                              {"u64", TypeKind::u64, 8},
                                              {"f32", TypeKind::f32, 4},
                                              {"f64", TypeKind::f64, 8}}};
constexpr std::uint32_t kAlignLimit = 16;

bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || (c >= '0' && c <= '9');
}

bool is_key(const Type& type) {
  return type.kind == TypeKind::str ||
         (type.is_scalar() && type.kind != TypeKind::f32 && type.kind != TypeKind::f64);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Type> whole_type() {
    GODWIT_CHECK(check_length());
    if (text_ == "unit") return Type{};
    GODWIT_TRY(Type type, parameter());
    GODWIT_CHECK(expect_end());
    return type;
  }

  Result<Signature> whole_signature() {
    GODWIT_CHECK(check_length());
    Signature signature;
    GODWIT_CHECK(expect("("));
    if (!accept(")")) {
      GODWIT_TRY(signature.parameters, items([this] { return parameter(); }));
      GODWIT_CHECK(expect(")"));
    }
    GODWIT_CHECK(expect(" -> "));
    if (text_.substr(at_) == "unit") return signature;
    GODWIT_TRY(signature.result, parameter());
    GODWIT_CHECK(expect_end());
    return signature;
  }

 private:
  Status check_length() const {
    if (text_.size() <= kTypeTextLimit) return {};
    return fail(ErrorCode::bad_format, "a type of {} characters is over the limit of {}",
                text_.size(), kTypeTextLimit);
  }

  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorCode::bad_format, "{} at character {} of the type '{}'", what, at_ + 1,
                text_.substr(0, 200));
  }

  bool accept(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    if (accept(token)) return {};
    return wrong(fmt::format("expected '{}'", token));
  }
  Status expect_end() const {
    if (at_ == text_.size()) return {};
    return wrong("expected the end");
  }

  std::string_view word() {
    const std::size_t start = at_;
    if (at_ < text_.size() && is_word_start(text_[at_])) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  // Decimal without leading zeros, at most `limit`.
  Result<std::uint64_t> number(std::uint64_t limit) {
    std::uint64_t value = 0;
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, value);
    if (error == std::errc::result_out_of_range || (error == std::errc{} && value > limit)) {
      return wrong(fmt::format("expected a number of at most {}", limit));
    }
    if (error != std::errc{}) return wrong("expected a number");
    if (*first == '0' && end - first > 1) return wrong("a number has no leading zeros: found one");
    at_ += static_cast<std::size_t>(end - first);
    return value;
  }

  template <class ParseItem>
  Result<std::vector<Type>> items(ParseItem parse_item) {
    std::vector<Type> found;
    do {
      if (found.size() == kTypeItemLimit) {
        return wrong(fmt::format("more than {} items", kTypeItemLimit));
      }
      GODWIT_TRY(Type item, parse_item());
      found.push_back(std::move(item));
    } while (accept(", "));
    return found;
  }

  // A type where a parameter or result stands: the only place for a span.
  Result<Type> parameter() {
    if (!accept("span<")) return value();
    GODWIT_TRY(Type type, generic(TypeKind::span, 1));
    if (!type.items.front().plain) return wrong("a span has plain elements (use list)");
    return type;
  }

  // A type that may stand inside others.
  Result<Type> value() {
    if (depth_ == kTypeDepthLimit) {
      return wrong(fmt::format("nested deeper than {}", kTypeDepthLimit));
    }
    ++depth_;
    auto type = value_inner();
    --depth_;
    return type;
  }

  Result<Type> value_inner() {
    const std::string_view name = word();
    for (const Scalar& scalar : kScalars) {
      if (name != scalar.word) continue;
      Type type{.kind = scalar.kind, .plain = true, .align = scalar.size, .size = scalar.size};
      return type;
    }
    if (name == "str") return Type{.kind = TypeKind::str};
    if (name == "bytes") return Type{.kind = TypeKind::bytes};
    if (name == "struct" && accept(" ")) return structure();
    if (accept("<")) {
      if (name == "list") return generic(TypeKind::list, 1);
      if (name == "ref") return ref();
      if (name == "map") return map();
      if (name == "opt") return opt();
      if (name == "tuple") return generic(TypeKind::tuple, kTypeItemLimit);
      if (name == "array") return array();
    }
    if (name == "span") return wrong("a span is a whole parameter or result (use list inside)");
    if (name == "unit") return wrong("unit is a whole result");
    return wrong("expected a type");
  }

  Result<Type> generic(TypeKind kind, std::size_t most_items) {
    Type type{.kind = kind};
    GODWIT_TRY(type.items, items([this] { return value(); }));
    if (type.items.size() > most_items) return wrong("too many items");
    GODWIT_CHECK(expect(">"));
    return type;
  }

  Result<Type> ref() {
    GODWIT_TRY(Type type, generic(TypeKind::ref, 1));
    type.plain = true;
    type.align = alignof(Handle);
    type.size = sizeof(Handle);
    return type;
  }

  Result<Type> map() {
    GODWIT_TRY(Type type, generic(TypeKind::map, 2));
    if (type.items.size() != 2) return wrong("a map has a key and a value");
    if (!is_key(type.items.front())) return wrong("a map's key is an integer, bool or str");
    return type;
  }

  Result<Type> opt() {
    GODWIT_TRY(Type type, generic(TypeKind::opt, 1));
    if (type.items.front().kind == TypeKind::opt) return wrong("an opt of an opt has no encoding");
    return type;
  }

  Result<Type> array() {
    Type type{.kind = TypeKind::array};
    GODWIT_TRY(Type element, value());
    GODWIT_CHECK(expect(", "));
    GODWIT_TRY(type.count, number(kPlainSizeLimit));
    if (type.count == 0) return wrong("an array has at least one element");
    GODWIT_CHECK(expect(">"));
    if (element.plain) {
      if (type.count > kPlainSizeLimit / element.size) return wrong("array too large");
      type.plain = true;
      type.align = element.align;
      type.size = type.count * element.size;
    }
    type.items.push_back(std::move(element));
    return type;
  }

  Result<Type> structure() {
    Type type{.kind = TypeKind::structure};
    type.name = word();
    if (type.name.empty()) return wrong("expected the struct's name");
    GODWIT_CHECK(expect("{"));
    bool with_offsets = false;
    GODWIT_TRY(type.items, items([&] { return field(type, with_offsets); }));
    type.plain = std::all_of(type.items.begin(), type.items.end(),
                             [](const Type& item) { return item.plain; });
    if (type.plain != with_offsets) return wrong("offsets belong to plain structs, and only there");
    if (type.plain) {
      GODWIT_CHECK(finish_layout(type));
    }
    GODWIT_CHECK(expect("}"));
    return type;
  }

  Result<Type> field(Type& owner, bool& with_offsets) {
    Type::Field field{.name = std::string(word())};
    if (field.name.empty()) return wrong("expected a field's name");
    for (const Type::Field& other : owner.fields) {
      if (other.name == field.name) return wrong("two fields have one name");
    }
    GODWIT_CHECK(expect(": "));
    GODWIT_TRY(Type type, value());
    const bool has_offset = accept(" @");
    if (!owner.fields.empty() && has_offset != with_offsets) {
      return wrong("either all fields have offsets, or none");
    }
    with_offsets = has_offset;
    if (has_offset) {
      GODWIT_TRY(field.offset, number(kPlainSizeLimit));
    }
    owner.fields.push_back(std::move(field));
    return type;
  }

  // "; size 16 align 8", and whether the fields fit: in order, apart, aligned, inside.
  Status finish_layout(Type& type) {
    GODWIT_CHECK(expect("; size "));
    GODWIT_TRY(type.size, number(kPlainSizeLimit));
    GODWIT_CHECK(expect(" align "));
    GODWIT_TRY(const std::uint64_t align, number(kAlignLimit));
    if (align == 0 || (align & (align - 1)) != 0) return wrong("expected a power of two");
    type.align = static_cast<std::uint32_t>(align);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < type.items.size(); ++i) {
      const Type& item = type.items[i];
      const std::uint64_t offset = type.fields[i].offset;
      if (offset < end || offset % item.align != 0 || item.align > align) {
        return wrong(fmt::format("field '{}' cannot be at offset {}", type.fields[i].name, offset));
      }
      end = offset + item.size;
    }
    if (type.size < end || type.size % align != 0)
      return wrong("the struct's size cannot be right");
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Result<Type> parse_type(std::string_view text) {
  return Parser(text).whole_type();
}

Result<Signature> parse_signature(std::string_view text) {
  return Parser(text).whole_signature();
}

}  // namespace godwit::code
