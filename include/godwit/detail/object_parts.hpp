// Parts of objects, as values.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::detail {

template <class Field, class Struct>
[[nodiscard]] std::uint64_t offset_of_member(Field Struct::* member) {
  static const Struct probe{};
  return static_cast<std::uint64_t>(reinterpret_cast<const char*>(&(probe.*member)) -
                                    reinterpret_cast<const char*>(&probe));
}

// That so many elements of `size` bytes each can be counted in bytes. Errors: invalid_argument.
[[nodiscard]] inline Status check_elements(std::uint64_t size,
                                           std::initializer_list<std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    if (count <= (std::uint64_t{1} << 62) / size) continue;
    return tl::unexpected(Error{ErrorCode::invalid_argument, "no object has so many elements"});
  }
  return {};
}

template <class Element>
[[nodiscard]] Result<std::vector<Element>> read_parts(const ObjectDoor& door, const Handle& handle,
                                                      const ObjectSelection& what) {
  auto bytes = door.read(handle, what);
  if (!bytes) return tl::unexpected(std::move(bytes).error());
  std::vector<Element> elements(bytes->size() / sizeof(Element));
  if (!elements.empty()) std::memcpy(elements.data(), bytes->data(), bytes->size());
  return elements;
}

}  // namespace godwit::detail
