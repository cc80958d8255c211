// Types and signatures at run time: parsed from their canonical strings (docs/types.md), with the
// memory layout of plain types and the layout of a blob's head.
//
// Values; safe to use from any thread. Parsing accepts hostile input: its cost and memory are
// bounded by the limits below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::code {

inline constexpr std::size_t kTypeTextLimit = 16 * 1024;  // characters of one string
inline constexpr std::size_t kTypeDepthLimit = 16;        // nesting
inline constexpr std::size_t kTypeItemLimit = 32;         // parameters, fields, tuple items
inline constexpr std::uint64_t kPlainSizeLimit = std::uint64_t{1}
                                                 << 30;  // bytes of one plain value

enum class TypeKind : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  unit,
  str,
  bytes,
  span,
  list,
  array,
  map,
  opt,
  tuple,
  structure,
  ref,
};

struct Type {
  TypeKind kind = TypeKind::unit;
  // Travels as memory: `size` and `align` are those of the value. Zero for all other types.
  bool plain = false;
  std::uint32_t align = 0;
  std::uint64_t size = 0;

  // span, list, array, opt, ref: the element. map: key, value. tuple, structure: the members.
  std::vector<Type> items = {};
  std::uint64_t count = 0;  // array: elements
  std::string name = {};    // structure
  struct Field {
    std::string name = {};
    std::uint64_t offset = 0;  // in memory; zero unless the structure is plain
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::vector<Field> fields = {};  // structure: one for each of items

  [[nodiscard]] bool is_scalar() const noexcept { return kind <= TypeKind::f64; }
  // A parameter of this type is `count` raw elements in the blob's tail: str, bytes, span, and
  // list of plain elements. raw_element_size() is the size of one.
  [[nodiscard]] bool is_raw() const noexcept;
  [[nodiscard]] std::uint64_t raw_element_size() const noexcept;
  // The canonical string: parse_type(t.text()) == t.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Type&, const Type&) = default;
};

struct Signature {
  std::vector<Type> parameters;
  Type result;  // kind unit: the function returns nothing

  [[nodiscard]] std::string text() const;
  friend bool operator==(const Signature&, const Signature&) = default;
};

// Errors: bad_format, saying where in the string and what was expected there.
[[nodiscard]] Result<Type> parse_type(std::string_view text);
[[nodiscard]] Result<Signature> parse_signature(std::string_view text);

// The type of the objects whose bytes may stand for an argument of this type: that of a list for
// a span, and the same for any other that is_raw(). Empty for the rest.
[[nodiscard]] std::string object_type_for(const Type& parameter);

// The first 64 bits of the BLAKE2b-256 of a canonical string, little-endian.
[[nodiscard]] std::uint64_t type_hash(std::string_view canonical);

// Where a parameter stands in the blob's head: a plain value itself, or the descriptor
// {u64 offset, u64 count} of any other.
struct Slot {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t align = 1;
  bool plain = false;
};

struct HeadLayout {
  std::vector<Slot> slots;  // one per parameter
  std::uint64_t size = 0;   // a blob is at least this long
};

inline constexpr std::uint64_t kDescriptorSize = 16;
inline constexpr std::uint32_t kSegmentAlign = 16;  // of every segment of a blob's tail

[[nodiscard]] HeadLayout head_layout(std::span<const Type> parameters);
// A result is a blob of one parameter; unit: an empty blob.
[[nodiscard]] HeadLayout result_layout(const Type& result);

}  // namespace godwit::code
