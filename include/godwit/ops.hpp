// Operations on regions that run where the data is. Each is a mobile function (src/ops/mobile),
// called like any other.
//
//   auto list = godwit::Region<std::uint64_t>::attach(fleet, "list").value();
//   godwit::Outcome<std::uint64_t> end = godwit::ops::chase(list, 0, 1'000).get();
#pragma once

#include <cstdint>

#include "godwit/export.hpp"
#include "godwit/future.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// How an operation gets at the elements.
enum class Mechanism : std::uint8_t {
  automatic,  // direct if every shard is mapped here, else what costs least (explain.hpp)
  direct,     // plain loads by the calling thread; unsupported if a shard is not mapped
  get,        // one get per element, by the calling thread
  code,       // a call that travels to the elements
};

// Follows a list, in which each element holds the index of the next, for so many steps from `at`;
// the index it comes to. `direct` and `get` are over when this returns, also if `automatic` chose
// them, but for a get of one step. Of travelling calls many may be under way at once; each takes
// 1,024 elements at most before others have their turn.
// Failures: as those of Region; invalid_argument also if the list leads out of the region.
[[nodiscard]] GODWIT_API Future<std::uint64_t> chase(const Region<std::uint64_t>& list,
                                                     std::uint64_t at, std::uint64_t steps,
                                                     Mechanism mechanism = Mechanism::automatic);

}  // namespace godwit::ops
