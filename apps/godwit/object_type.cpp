#include "object_type.hpp"

#include "base/fail.hpp"
#include "base/ids.hpp"

namespace godwit::cli {

Result<code::Type> object_type(std::string_view text) {
  auto type = code::parse_type(text);
  if (!type) {
    return fail(ErrorCode::invalid_argument, "'{}' is no type: {}", text, type.error().message);
  }
  if (type->kind == code::TypeKind::span || type->kind == code::TypeKind::unit) {
    return fail(ErrorCode::invalid_argument, "no object is of the type '{}': take a list", text);
  }
  return type;
}

Status check_size(const code::Type& type, std::uint64_t bytes) {
  if (type.plain && bytes != type.size) {
    return fail(ErrorCode::invalid_argument, "{} bytes are no {}, which has {}", bytes, type.text(),
                type.size);
  }
  if (!type.plain && type.is_raw() && bytes % type.raw_element_size() != 0) {
    return fail(ErrorCode::invalid_argument, "{} bytes are no {}: its elements have {} each", bytes,
                type.text(), type.raw_element_size());
  }
  return {};
}

std::string type_name_of(std::uint64_t hash) {
  if (hash == 0) return "untyped";
  for (const char* name : {"bytes", "str"}) {
    if (code::type_hash(name) == hash) return name;
  }
  for (const char* name :
       {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"}) {
    if (code::type_hash(name) == hash) return name;
    std::string list = fmt::format("list<{}>", name);
    if (code::type_hash(list) == hash) return list;
  }
  return to_hex(hash);
}

}  // namespace godwit::cli
