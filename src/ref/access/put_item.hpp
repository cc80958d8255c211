// A new object as a request has it.
#pragma once

#include <cstdint>

#include "ref/home/store.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

[[nodiscard]] inline wire::ObjectItem item_of(const NewObject& object, std::uint64_t size) {
  wire::ObjectItem item;
  item.handle.type = object.type;
  item.handle.size = size;
  const std::uint8_t flags =
      static_cast<std::uint8_t>((object.owned ? wire::PutTerms::kOwned : 0) |
                                (object.persist ? wire::PutTerms::kPersist : 0));
  item.set_terms({.lifetime = static_cast<std::uint8_t>(object.lifetime.kind),
                  .flags = flags,
                  .readers = object.lifetime.readers,
                  .lease_ns = object.lifetime.lease.count()});
  return item;
}

[[nodiscard]] inline bool ends_with_maker(const NewObject& object) noexcept {
  return object.owned || object.lifetime.kind == LifetimeKind::holder;
}

}  // namespace godwit::ref
