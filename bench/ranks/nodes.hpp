// Ranks that are nodes of a fleet, for measuring.
#pragma once

#include <cstdint>

#include "floors/sample.hpp"
#include "godwit/error.hpp"
#include "godwit/group.hpp"

namespace godwit::bench {

// Starts two nodes on this machine, sends them a function, and has it pass `items` of 64 bytes from
// one to the other. Times and rates are by `message_bytes`, as if each so many were a message.
// bad_format: some of them did not arrive.
[[nodiscard]] Result<floors::Sample> measure_nodes(Way way, std::uint64_t items,
                                                   std::size_t message_bytes);

}  // namespace godwit::bench
