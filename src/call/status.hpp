// What an engine says of itself to an operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "base/scheduler.hpp"

namespace godwit::trace {
class Json;
}

namespace godwit::call {

// A native function cannot be interrupted: one that outlives its deadline keeps its worker until it
// returns. Its caller has long been told `deadline`.
struct OverdueFunction {
  std::string function;
  std::string bundle;
  ContentId bundle_id;
  std::string caller;  // its name, or its id in hexadecimal if it never said one
  NodeId caller_id;
  NodeId origin;  // who made the call first, if it travelled
  Duration running{};
  Duration overdue{};
};

// A status is at most this long: each of its lists ends after its share of bytes, says how many
// entries there are in all, and the document says "truncated".
inline constexpr std::size_t kMaxStatusBytes = std::size_t{256} << 10;
inline constexpr std::size_t kStatusListBytes = std::size_t{48} << 10;
// On one link; whoever asks more often gets an empty answer. It bounds what a peer that asks and
// never reads makes this process queue, and what asking costs.
inline constexpr std::uint32_t kStatusesPerSecond = 16;

}  // namespace godwit::call
