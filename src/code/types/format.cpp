// A result blob as text or JSON.
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/fail.hpp"
#include "code/types/text.hpp"
#include "godwit/handle.hpp"
#include "godwit/msgpack.hpp"

namespace godwit::code {
namespace {

enum class Style : std::uint8_t { text, json };

// The length of the UTF-8 sequence at the start of `text`, or 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length < 3) return length;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const std::uint8_t second = byte(1);
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return bad ? 0 : length;
}

class Formatter {
 public:
  explicit Formatter(Style style) : style_(style) {}

  std::string take() { return std::move(out_); }

  void quoted(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const std::size_t length = utf8_length(text);
      if (length == 1) {
        character(text.front());
      } else if (length > 1) {
        out_ += text.substr(0, length);
      } else {
        out_ += "\\ufffd";
      }
      text.remove_prefix(length == 0 ? 1 : length);
    }
    out_ += '"';
  }

  void bare(std::string_view text) { out_ += text; }

  void hex(Bytes bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += style_ == Style::json ? "\"hex:" : "hex:";
    for (const std::byte byte : bytes) {
      out_ += kDigits[static_cast<std::size_t>(byte >> 4)];
      out_ += kDigits[static_cast<std::size_t>(byte & std::byte{15})];
    }
    if (style_ == Style::json) out_ += '"';
  }

  template <class T>
  void number(T value) {
    char digits[40];
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        const std::string_view name = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
        return style_ == Style::json ? quoted(name) : bare(name);
      }
    }
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    out_.append(digits, result.ptr);
  }
  void boolean(bool value) { out_ += value ? "true" : "false"; }

  Status scalar(TypeKind kind, const std::byte* at) {
    switch (kind) {
      case TypeKind::boolean:
        if (static_cast<std::uint8_t>(*at) > 1) {
          return fail(ErrorCode::bad_format, "a bool is neither 0 nor 1");
        }
        boolean(*at == std::byte{1});
        break;
      case TypeKind::i8: number(load<std::int8_t>(at)); break;
      case TypeKind::i16: number(load<std::int16_t>(at)); break;
      case TypeKind::i32: number(load<std::int32_t>(at)); break;
      case TypeKind::i64: number(load<std::int64_t>(at)); break;
      case TypeKind::u8: number(load<std::uint8_t>(at)); break;
      case TypeKind::u16: number(load<std::uint16_t>(at)); break;
      case TypeKind::u32: number(load<std::uint32_t>(at)); break;
      case TypeKind::u64: number(load<std::uint64_t>(at)); break;
      case TypeKind::f32: number(load<float>(at)); break;
      default: number(load<double>(at)); break;
    }
    return {};
  }

  Status plain(const Type& type, const std::byte* at) {
    if (type.is_scalar()) return scalar(type.kind, at);
    if (type.kind == TypeKind::ref) {
      quoted(load<Handle>(at).to_text());
      return {};
    }
    if (type.kind == TypeKind::array) return elements(type.items[0], type.count, at);
    for (std::size_t i = 0; i < type.items.size(); ++i) {
      field(type, i);
      GODWIT_CHECK(plain(type.items[i], at + type.fields[i].offset));
    }
    out_ += '}';
    return {};
  }

  Status elements(const Type& type, std::uint64_t count, const std::byte* at) {
    out_ += '[';
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      GODWIT_CHECK(plain(type, at + i * type.size));
    }
    out_ += ']';
    return {};
  }

  Status packed(const Type& type, Unpacker& in) {
    if (type.is_scalar()) return packed_scalar(type, in);
    switch (type.kind) {
      case TypeKind::str: {
        std::string_view text;
        if (!in.str(text)) return wrong(type);
        quoted(text);
        return {};
      }
      case TypeKind::bytes: {
        Bytes bytes;
        if (!in.bin(bytes)) return wrong(type);
        hex(bytes);
        return {};
      }
      case TypeKind::ref: {
        Bytes handle;
        if (!in.bin(handle) || handle.size() != sizeof(Handle)) return wrong(type);
        quoted(load<Handle>(handle.data()).to_text());
        return {};
      }
      case TypeKind::opt:
        if (!in.accept_nil()) return packed(type.items[0], in);
        out_ += "null";
        return {};
      case TypeKind::list:
      case TypeKind::array:
      case TypeKind::tuple: return packed_list(type, in);
      case TypeKind::map: return packed_map(type, in);
      case TypeKind::structure: return packed_structure(type, in);
      default: return wrong(type);
    }
  }

 private:
  template <class T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  static tl::unexpected<Error> wrong(const Type& type) {
    return fail(ErrorCode::bad_format, "the msgpack value is not of the type {}", type.text());
  }

  void character(char c) {
    constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
    constexpr std::string_view kTo = "\"\\bfnrt";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out_ += '\\';
      out_ += kTo[i];
    } else if (static_cast<std::uint8_t>(c) < 0x20) {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
  }

  void field(const Type& type, std::size_t i) {
    out_ += i == 0 ? "{" : ", ";
    if (style_ == Style::json) {
      quoted(type.fields[i].name);
    } else {
      out_ += type.fields[i].name;
    }
    out_ += ": ";
  }

  template <class T>
  Status packed_integer(const Type& type, Unpacker& in) {
    T value{};
    if (!in.integer(value)) return wrong(type);
    number(value);
    return {};
  }

  Status packed_scalar(const Type& type, Unpacker& in) {
    switch (type.kind) {
      case TypeKind::boolean: {
        bool value = false;
        if (!in.boolean(value)) return wrong(type);
        boolean(value);
        return {};
      }
      case TypeKind::i8: return packed_integer<std::int8_t>(type, in);
      case TypeKind::i16: return packed_integer<std::int16_t>(type, in);
      case TypeKind::i32: return packed_integer<std::int32_t>(type, in);
      case TypeKind::i64: return packed_integer<std::int64_t>(type, in);
      case TypeKind::u8: return packed_integer<std::uint8_t>(type, in);
      case TypeKind::u16: return packed_integer<std::uint16_t>(type, in);
      case TypeKind::u32: return packed_integer<std::uint32_t>(type, in);
      case TypeKind::u64: return packed_integer<std::uint64_t>(type, in);
      default: break;
    }
    double value = 0;
    if (!in.floating(value)) return wrong(type);
    if (type.kind == TypeKind::f32) {
      number(static_cast<float>(value));
    } else {
      number(value);
    }
    return {};
  }

  Status packed_list(const Type& type, Unpacker& in) {
    std::size_t count = 0;
    if (!in.array(count)) return wrong(type);
    const bool tuple = type.kind == TypeKind::tuple;
    if (type.kind != TypeKind::list && count != (tuple ? type.items.size() : type.count)) {
      return wrong(type);
    }
    out_ += '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      GODWIT_CHECK(packed(type.items[tuple ? i : 0], in));
    }
    out_ += ']';
    return {};
  }

  Status packed_map(const Type& type, Unpacker& in) {
    std::size_t count = 0;
    if (!in.map(count)) return wrong(type);
    // JSON's keys are strings, whatever ours are.
    const bool quote = style_ == Style::json && type.items[0].kind != TypeKind::str;
    out_ += '{';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      if (quote) out_ += '"';
      GODWIT_CHECK(packed(type.items[0], in));
      if (quote) out_ += '"';
      out_ += ": ";
      GODWIT_CHECK(packed(type.items[1], in));
    }
    out_ += '}';
    return {};
  }

  Status packed_structure(const Type& type, Unpacker& in) {
    std::size_t count = 0;
    if (!in.array(count) || count != type.items.size()) return wrong(type);
    for (std::size_t i = 0; i < count; ++i) {
      field(type, i);
      GODWIT_CHECK(packed(type.items[i], in));
    }
    out_ += '}';
    return {};
  }

  Style style_;
  std::string out_;
};

Result<Bytes> locate(Bytes blob, std::uint64_t element_size) {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::memcpy(&offset, blob.data(), sizeof offset);
  std::memcpy(&count, blob.data() + sizeof offset, sizeof count);
  if (count == 0 && offset == 0) return Bytes{};
  if (count == 0 || offset % kSegmentAlign != 0 || offset > blob.size() ||
      count > (blob.size() - offset) / element_size) {
    return fail(ErrorCode::bad_format,
                "a segment of {} elements at offset {} does not fit a blob of {} bytes", count,
                offset, blob.size());
  }
  return blob.subspan(offset, count * element_size);
}

Result<std::string> format(const Type& type, Bytes blob, Style style) {
  const HeadLayout head = result_layout(type);
  if (blob.size() < head.size) {
    return fail(ErrorCode::bad_format, "a blob of {} bytes is too short for a {}", blob.size(),
                type.text());
  }
  Formatter out(style);
  if (type.kind == TypeKind::unit) {
    out.bare(style == Style::json ? "null" : "");
  } else if (type.kind == TypeKind::ref && style == Style::text) {
    Handle handle;
    std::memcpy(&handle, blob.data(), sizeof handle);
    out.bare(handle.to_text());
  } else if (type.plain) {
    GODWIT_CHECK(out.plain(type, blob.data()));
  } else if (type.is_raw()) {
    GODWIT_TRY(const Bytes segment, locate(blob, type.raw_element_size()));
    if (type.kind == TypeKind::str) {
      style == Style::json ? out.quoted(text_of(segment)) : out.bare(text_of(segment));
    } else if (type.kind == TypeKind::bytes) {
      out.hex(segment);
    } else {
      const Type& element = type.items[0];
      GODWIT_CHECK(out.elements(element, segment.size() / element.size, segment.data()));
    }
  } else {
    GODWIT_TRY(const Bytes segment, locate(blob, 1));
    Unpacker in(segment);
    GODWIT_CHECK(out.packed(type, in));
    if (in.remaining() != 0) return fail(ErrorCode::bad_format, "bytes are left over in the blob");
  }
  return out.take();
}

}  // namespace

Result<std::string> format_text(const Type& type, Bytes blob) {
  return format(type, blob, Style::text);
}

Result<std::string> format_json(const Type& type, Bytes blob) {
  return format(type, blob, Style::json);
}

}  // namespace godwit::code
