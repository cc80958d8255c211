// Words to a blob. A written value is parsed into a Literal, then written as its type asks: as
// memory (plain), as raw elements, or as msgpack.
#include <charconv>
#include <cstring>
#include <vector>

#include "base/fail.hpp"
#include "code/types/argument_file.hpp"
#include "code/types/literal.hpp"
#include "code/types/text.hpp"
#include "godwit/handle.hpp"
#include "godwit/msgpack.hpp"

namespace godwit::code {
namespace {

using Blob = std::vector<std::byte>;

tl::unexpected<Error> expected(const Type& type, const Literal& got) {
  return fail(ErrorCode::invalid_argument, "expected {}, got {}", type.text(), got.shown());
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const char* first = text.data();
  const char* last = first + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_integral_v<T>) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    result = std::from_chars(hex ? first + 2 : first, last, value, hex ? 16 : 10);
  } else {
    result = std::from_chars(first, last, value);
  }
  return result.ec == std::errc{} && result.ptr == last;
}

// Calls visit(T) with the parsed value.
template <class T, class Visit>
Status visit_number(const Type& type, const Literal& literal, Visit&& visit) {
  T value{};
  if (literal.kind != Literal::Kind::word || !parse_number(literal.text, value)) {
    return expected(type, literal);
  }
  visit(value);
  return {};
}

template <class Visit>
Status visit_scalar(const Type& type, const Literal& literal, Visit&& visit) {
  switch (type.kind) {
    case TypeKind::boolean:
      if (literal.kind != Literal::Kind::word ||
          (literal.text != "true" && literal.text != "false")) {
        return expected(type, literal);
      }
      visit(literal.text == "true");
      return {};
    case TypeKind::i8: return visit_number<std::int8_t>(type, literal, visit);
    case TypeKind::i16: return visit_number<std::int16_t>(type, literal, visit);
    case TypeKind::i32: return visit_number<std::int32_t>(type, literal, visit);
    case TypeKind::i64: return visit_number<std::int64_t>(type, literal, visit);
    case TypeKind::u8: return visit_number<std::uint8_t>(type, literal, visit);
    case TypeKind::u16: return visit_number<std::uint16_t>(type, literal, visit);
    case TypeKind::u32: return visit_number<std::uint32_t>(type, literal, visit);
    case TypeKind::u64: return visit_number<std::uint64_t>(type, literal, visit);
    case TypeKind::f32: return visit_number<float>(type, literal, visit);
    default: return visit_number<double>(type, literal, visit);
  }
}

// The members of a struct in the order of its fields; null for an opt that was left out.
Result<std::vector<const Literal*>> members(const Type& type, const Literal& literal) {
  std::vector<const Literal*> found(type.items.size(), nullptr);
  if (literal.kind == Literal::Kind::list && literal.items.size() == found.size()) {
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = &literal.items[i];
    return found;
  }
  if (literal.kind != Literal::Kind::object) return expected(type, literal);
  for (std::size_t k = 0; k < literal.keys.size(); ++k) {
    std::size_t i = 0;
    while (i < found.size() && type.fields[i].name != literal.keys[k]) ++i;
    if (i == found.size()) {
      return fail(ErrorCode::invalid_argument, "struct {} has no field '{}'", type.name,
                  literal.keys[k]);
    }
    if (found[i] != nullptr) {
      return fail(ErrorCode::invalid_argument, "field '{}' is given twice", literal.keys[k]);
    }
    found[i] = &literal.items[k];
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == nullptr && type.items[i].kind != TypeKind::opt) {
      return fail(ErrorCode::invalid_argument, "field '{}' of struct {} is missing",
                  type.fields[i].name, type.name);
    }
  }
  return found;
}

Status check_list(const Type& type, const Literal& literal, std::uint64_t count) {
  if (literal.kind == Literal::Kind::list && literal.items.size() == count) return {};
  return expected(type, literal);
}

// The handle that stands there, which must be one of an object of the right type.
Result<Handle> handle_literal(const Type& type, const Literal& literal) {
  if (literal.kind != Literal::Kind::word && literal.kind != Literal::Kind::quoted) {
    return expected(type, literal);
  }
  auto handle = Handle::parse(literal.text);
  if (!handle) return fail(ErrorCode::invalid_argument, "{}", handle.error().message);
  if (handle->type != type_hash(type.items[0].text())) {
    return fail(ErrorCode::type_mismatch, "object {} is not of the type {}",
                handle->object.short_hex(), type.items[0].text());
  }
  return *handle;
}

Status write_plain(const Type& type, const Literal& literal, std::byte* out) {
  if (type.kind == TypeKind::ref) {
    GODWIT_TRY(const Handle handle, handle_literal(type, literal));
    std::memcpy(out, &handle, sizeof handle);
    return {};
  }
  if (type.is_scalar()) {
    return visit_scalar(type, literal, [&](auto value) { std::memcpy(out, &value, sizeof value); });
  }
  if (type.kind == TypeKind::array) {
    GODWIT_CHECK(check_list(type, literal, type.count));
    for (std::size_t i = 0; i < literal.items.size(); ++i) {
      GODWIT_CHECK(write_plain(type.items[0], literal.items[i], out + i * type.items[0].size));
    }
    return {};
  }
  GODWIT_TRY(const auto found, members(type, literal));
  for (std::size_t i = 0; i < found.size(); ++i) {
    GODWIT_CHECK(write_plain(type.items[i], *found[i], out + type.fields[i].offset));
  }
  return {};
}

Result<std::string> bytes_literal(const Type& type, const Literal& literal) {
  if (literal.kind != Literal::Kind::word && literal.kind != Literal::Kind::quoted) {
    return expected(type, literal);
  }
  if (!literal.text.starts_with("hex:")) return literal.text;
  const std::string_view digits = std::string_view(literal.text).substr(4);
  std::string bytes(digits.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t byte = 0;
    const char* at = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, byte, 16);
    if (error != std::errc{} || end != at + 2) return expected(type, literal);
    bytes[i] = static_cast<char>(byte);
  }
  if (digits.size() % 2 != 0) return expected(type, literal);
  return bytes;
}

class ValuePacker {
 public:
  explicit ValuePacker(ByteSink& sink) : out_(sink) {}

  Status pack(const Type& type, const Literal& literal) {
    if (type.is_scalar()) {
      return visit_scalar(type, literal, [&](auto value) { put(value); });
    }
    switch (type.kind) {
      case TypeKind::str:
        if (literal.kind != Literal::Kind::word && literal.kind != Literal::Kind::quoted) break;
        out_.str(literal.text);
        return {};
      case TypeKind::bytes: {
        GODWIT_TRY(const std::string bytes, bytes_literal(type, literal));
        out_.bin(bytes_of(bytes));
        return {};
      }
      case TypeKind::ref: {
        GODWIT_TRY(const Handle handle, handle_literal(type, literal));
        out_.bin(bytes_of_value(handle));
        return {};
      }
      case TypeKind::opt:
        if (!literal.is_null()) return pack(type.items[0], literal);
        out_.nil();
        return {};
      case TypeKind::list:
        if (literal.kind != Literal::Kind::list) break;
        return pack_list(type, literal);
      case TypeKind::array:
        GODWIT_CHECK(check_list(type, literal, type.count));
        return pack_list(type, literal);
      case TypeKind::tuple:
        GODWIT_CHECK(check_list(type, literal, type.items.size()));
        return pack_list(type, literal);
      case TypeKind::map: return pack_map(type, literal);
      case TypeKind::structure: return pack_structure(type, literal);
      default: break;
    }
    return expected(type, literal);
  }

 private:
  void put(bool value) { out_.boolean(value); }
  void put(float value) { out_.f32(value); }
  void put(double value) { out_.f64(value); }
  template <class T>
  void put(T value) {
    if constexpr (std::is_signed_v<T>) {
      out_.signed_integer(value);
    } else {
      out_.unsigned_integer(value);
    }
  }

  Status pack_list(const Type& type, const Literal& literal) {
    out_.array(literal.items.size());
    for (std::size_t i = 0; i < literal.items.size(); ++i) {
      const bool tuple = type.kind == TypeKind::tuple;
      GODWIT_CHECK(pack(type.items[tuple ? i : 0], literal.items[i]));
    }
    return {};
  }
  Status pack_map(const Type& type, const Literal& literal) {
    if (literal.kind != Literal::Kind::object) return expected(type, literal);
    out_.map(literal.items.size());
    for (std::size_t i = 0; i < literal.items.size(); ++i) {
      GODWIT_CHECK(pack(type.items[0], Literal{.text = literal.keys[i]}));
      GODWIT_CHECK(pack(type.items[1], literal.items[i]));
    }
    return {};
  }
  Status pack_structure(const Type& type, const Literal& literal) {
    GODWIT_TRY(const auto found, members(type, literal));
    out_.array(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == nullptr) {
        out_.nil();
      } else {
        GODWIT_CHECK(pack(type.items[i], *found[i]));
      }
    }
    return {};
  }

  Packer out_;
};

// The elements of a str, bytes, span or list of plain, as memory.
Result<Blob> raw_elements(const Type& type, const std::string& word) {
  const auto copied = [](std::string_view text) {
    const Bytes bytes = bytes_of(text);
    return Blob(bytes.begin(), bytes.end());
  };
  if (type.kind == TypeKind::str) return copied(word);
  if (word.starts_with('@')) return read_elements(type, word.substr(1));
  if (type.kind == TypeKind::bytes) {
    GODWIT_TRY(const std::string bytes, bytes_literal(type, Literal{.text = word}));
    return copied(bytes);
  }
  GODWIT_TRY(const Literal literal, parse_literal(word));
  if (literal.kind != Literal::Kind::list) return expected(type, literal);
  const Type& element = type.items[0];
  Blob elements(literal.items.size() * element.size);
  for (std::size_t i = 0; i < literal.items.size(); ++i) {
    GODWIT_CHECK(write_plain(element, literal.items[i], elements.data() + i * element.size));
  }
  return elements;
}

Result<Blob> packed_value(const Type& type, const std::string& word) {
  // A word for an opt of str, bytes or ref stands for the text itself, as it does for those.
  Literal literal{.text = word};
  const bool text = type.kind == TypeKind::opt &&
                    (type.items[0].kind == TypeKind::str || type.items[0].kind == TypeKind::bytes ||
                     type.items[0].kind == TypeKind::ref);
  if (!text) {
    GODWIT_TRY(literal, parse_literal(word));
  }
  ByteSink counting(nullptr, 0);
  GODWIT_CHECK(ValuePacker(counting).pack(type, literal));
  if (counting.failed()) return fail(ErrorCode::too_large, "a value is too long for msgpack");
  Blob packed(counting.size());
  ByteSink sink(packed.data(), packed.size());
  GODWIT_CHECK(ValuePacker(sink).pack(type, literal));
  return packed;
}

Status write_argument(const Type& type, const Slot& slot, const std::string& word, Blob& blob) {
  if (type.plain) {
    // A handle's text has a colon, which ends a word inside other values.
    Literal literal{.text = word};
    if (type.kind != TypeKind::ref) {
      GODWIT_TRY(literal, parse_literal(word));
    }
    return write_plain(type, literal, blob.data() + slot.offset);
  }
  GODWIT_TRY(const Blob segment,
             type.is_raw() ? raw_elements(type, word) : packed_value(type, word));
  if (segment.empty()) return {};
  blob.resize((blob.size() + kSegmentAlign - 1) / kSegmentAlign * kSegmentAlign);
  const std::uint64_t descriptor[2] = {
      blob.size(), segment.size() / (type.is_raw() ? type.raw_element_size() : 1)};
  std::memcpy(blob.data() + slot.offset, descriptor, sizeof descriptor);
  blob.insert(blob.end(), segment.begin(), segment.end());
  return {};
}

}  // namespace

Result<Buffer> encode_text(const Signature& signature, std::span<const std::string> words) {
  const auto& parameters = signature.parameters;
  if (words.size() != parameters.size()) {
    return fail(ErrorCode::invalid_argument, "expected {} argument{} for {}, got {}",
                parameters.size(), parameters.size() == 1 ? "" : "s", signature.text(),
                words.size());
  }
  const HeadLayout head = head_layout(parameters);
  Blob blob(head.size);
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto status = write_argument(parameters[i], head.slots[i], words[i], blob);
    if (status) continue;
    return fail(status.error().code, "argument {} ({}): {}", i + 1, parameters[i].text(),
                status.error().message);
  }
  Buffer buffer = Buffer::copy_of(blob);
  if (buffer.data() == nullptr && !blob.empty()) {
    return fail(ErrorCode::out_of_memory, "no memory for {} bytes of arguments", blob.size());
  }
  return buffer;
}

}  // namespace godwit::code
