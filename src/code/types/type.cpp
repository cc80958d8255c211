#include "code/types/type.hpp"

#include <array>

#include "base/ids.hpp"

namespace godwit::code {
namespace {

constexpr std::array<std::string_view, 14> kWords = {"bool", "i8",   "i16", "i32",  "i64",
                                                     "u8",   "u16",  "u32", "u64",  "f32",
                                                     "f64",  "unit", "str", "bytes"};

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

void append(std::string& out, const Type& type);

void append_items(std::string& out, std::string_view open, const Type& type) {
  out += open;
  for (std::size_t i = 0; i < type.items.size(); ++i) {
    if (i > 0) out += ", ";
    append(out, type.items[i]);
  }
}

void append_structure(std::string& out, const Type& type) {
  out += "struct " + type.name + "{";
  for (std::size_t i = 0; i < type.items.size(); ++i) {
    if (i > 0) out += ", ";
    out += type.fields[i].name + ": ";
    append(out, type.items[i]);
    if (type.plain) out += " @" + std::to_string(type.fields[i].offset);
  }
  if (type.plain) {
    out += "; size " + std::to_string(type.size) + " align " + std::to_string(type.align);
  }
  out += "}";
}

void append(std::string& out, const Type& type) {
  switch (type.kind) {
    case TypeKind::span: append_items(out, "span<", type); break;
    case TypeKind::list: append_items(out, "list<", type); break;
    case TypeKind::map: append_items(out, "map<", type); break;
    case TypeKind::opt: append_items(out, "opt<", type); break;
    case TypeKind::tuple: append_items(out, "tuple<", type); break;
    case TypeKind::ref: append_items(out, "ref<", type); break;
    case TypeKind::array:
      append_items(out, "array<", type);
      out += ", " + std::to_string(type.count);
      break;
    case TypeKind::structure: append_structure(out, type); return;
    default: out += kWords[static_cast<std::size_t>(type.kind)]; return;
  }
  out += ">";
}

}  // namespace

bool Type::is_raw() const noexcept {
  switch (kind) {
    case TypeKind::str:
    case TypeKind::bytes:
    case TypeKind::span: return true;
    case TypeKind::list: return items.front().plain;
    default: return false;
  }
}

std::uint64_t Type::raw_element_size() const noexcept {
  return kind == TypeKind::str || kind == TypeKind::bytes ? 1 : items.front().size;
}

std::string Type::text() const {
  std::string out;
  append(out, *this);
  return out;
}

std::string Signature::text() const {
  std::string out = "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) out += ", ";
    append(out, parameters[i]);
  }
  out += ") -> ";
  append(out, result);
  return out;
}

std::string object_type_for(const Type& parameter) {
  if (!parameter.is_raw()) return {};
  if (parameter.kind != TypeKind::span) return parameter.text();
  return "list<" + parameter.items.front().text() + ">";
}

namespace {

std::uint64_t prefix_of_id(std::string_view canonical) {
  const ContentId id = ContentId::of(bytes_of(canonical));
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, id.digest.data(), sizeof prefix);
  return prefix;
}

// The hash of a short type that was asked for before.
struct KnownHash {
  std::array<char, 40> text{};
  std::size_t size = 0;
  std::uint64_t hash = 0;

  [[nodiscard]] bool is_of(std::string_view canonical) const noexcept {
    return canonical == std::string_view(text.data(), size);
  }
};

}  // namespace

// Functions hand the same few types to their node again and again, and a small call takes not much
// longer than a hash.
std::uint64_t type_hash(std::string_view canonical) {
  static thread_local std::array<KnownHash, 16> known;
  if (canonical.empty() || canonical.size() > KnownHash{}.text.size()) {
    return prefix_of_id(canonical);
  }
  const auto spread = static_cast<unsigned char>(canonical.front()) +
                      static_cast<unsigned char>(canonical.back()) + canonical.size();
  KnownHash& place = known[spread % known.size()];
  if (!place.is_of(canonical)) {
    place.size = canonical.copy(place.text.data(), place.text.size());
    place.hash = prefix_of_id(canonical);
  }
  return place.hash;
}

HeadLayout head_layout(std::span<const Type> parameters) {
  HeadLayout layout;
  layout.slots.reserve(parameters.size());
  for (const Type& type : parameters) {
    Slot slot{.offset = 0,
              .size = type.plain ? type.size : kDescriptorSize,
              .align = type.plain ? type.align : std::uint32_t{8},
              .plain = type.plain};
    slot.offset = align_up(layout.size, slot.align);
    layout.size = slot.offset + slot.size;
    layout.slots.push_back(slot);
  }
  return layout;
}

HeadLayout result_layout(const Type& result) {
  if (result.kind == TypeKind::unit) return {};
  return head_layout({&result, 1});
}

}  // namespace godwit::code
