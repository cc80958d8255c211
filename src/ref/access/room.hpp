// A reservation at a home, from its writer's side.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.hpp"
#include "ref/access/access.hpp"

namespace godwit::ref {

// It has become an object (then the ticket is 0), or is given back.
struct ObjectAccess::Room {
  ObjectAccess* access;
  NodeId home;
  std::uint64_t ticket;

  Room(ObjectAccess& owner, NodeId at, std::uint64_t number) noexcept
      : access(&owner), home(at), ticket(number) {}
  Room(Room&& other) noexcept
      : access(other.access), home(other.home), ticket(std::exchange(other.ticket, 0)) {}
  Room& operator=(Room&&) = delete;
  ~Room() {
    if (ticket != 0) access->abandon_room(home, ticket);
  }
};

// The memory that a home's answer to a reservation names, in the segment that it names. Errors:
// protocol_violation.
[[nodiscard]] Result<MutableBytes> memory_of_room(NodeId home, const wire::ObjectAnswer& at,
                                                  const MappedSegment& segment, std::uint64_t size);

}  // namespace godwit::ref
