// Operations on regions that run where the data is. Each is a mobile function (src/ops/mobile),
// called like any other.
//
//   auto list = godwit::Region<std::uint64_t>::attach(fleet, "list").value();
//   godwit::Outcome<std::uint64_t> end = godwit::ops::chase(list, 0, 1'000).get();
#pragma once

#include <cstdint>

#include "godwit/export.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/mechanism.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// Follows a list, in which each element holds the index of the next, for so many steps from `at`;
// the index it comes to. `get` is one for each step. `direct` and `get` are over when this returns,
// also if `automatic` chose them, but for a get of one step. Of travelling calls many may be under
// way at once; each takes 1,024 elements at most before others have their turn. Failures: as those
// of Region; invalid_argument also if the list leads out of the region.
[[nodiscard]] GODWIT_API Future<std::uint64_t> chase(const Region<std::uint64_t>& list,
                                                     std::uint64_t at, std::uint64_t steps,
                                                     Mechanism mechanism = Mechanism::automatic);

}  // namespace godwit::ops
