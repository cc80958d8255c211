// What a chunk says of its items, in whichever struct: Chunk in memory, ChunkWire between
// processes, a record's head in a file.
#pragma once

#include "godwit/detail/forward/chunk.hpp"

namespace godwit::forward {

// Copies all of it that both have a place for; the items, and where they lie, are the caller's.
template <class From, class To>
void copy_label(const From& from, To& to) noexcept {
  to.sequence = from.sequence;
  to.used = from.used;
  to.count = from.count;
  to.kind = from.kind;
  to.priority = static_cast<decltype(to.priority)>(from.priority);
  if constexpr (requires { to.round = from.round; }) to.round = from.round;
  if constexpr (requires { to.source = from.source; }) {
    to.source = from.source;
    to.destination = from.destination;
  }
}

}  // namespace godwit::forward
