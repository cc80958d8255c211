// Random numbers by counting: the n-th number of an item is a function of its key and n.
//
// A generator with a state would be shared by all items of a rank, and what an item draws would
// depend on which items came before it. Here it depends on the item alone, wherever it is: so a
// particle takes the same path on one rank and on a hundred.
#pragma once

#include <cstdint>

#include "common/vec3.hpp"
#include "godwit/kernel.hpp"

namespace gallery {

inline constexpr float kPi = 3.14159265358979F;

// Every bit of the result depends on every bit of `x` (the last step of SplitMix64).
GODWIT_KERNEL inline std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Random {
  std::uint64_t key = 0;    // which item
  std::uint32_t drawn = 0;  // how many numbers it has drawn

  // From 0 to below 1.
  GODWIT_KERNEL float next() {
    const std::uint64_t bits = scramble(scramble(key) + 0x9e3779b97f4a7c15ULL * ++drawn);
    return static_cast<float>(bits >> 40) * 0x1p-24F;
  }
};

// All directions alike: that of a point in a ball, found by drawing from the cube around it.
GODWIT_KERNEL inline Vec3 any_direction(Random& random) {
  for (;;) {
    const Vec3 at{2 * random.next() - 1, 2 * random.next() - 1, 2 * random.next() - 1};
    const float squared = dot(at, at);
    if (squared <= 1 && squared > 1e-6F) return normalize(at);
  }
}

}  // namespace gallery
