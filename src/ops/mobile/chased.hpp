// What a chase answers; known to mobile code and clients alike.
#pragma once

#include <cstdint>

#include "godwit/struct.hpp"

namespace godwit::ops {

// Where a chase got to, and how many steps it has still to make from there.
struct Chased {
  std::uint64_t at = 0;
  std::uint64_t steps = 0;
};
GODWIT_STRUCT(Chased, at, steps);

// Elements that a chase follows on one node before it lets others have their turn. At 100 ns for
// an element that is in no cache, a tenth of what the node reports as an overrun.
inline constexpr std::uint32_t kStepsPerStay = 1024;

}  // namespace godwit::ops
