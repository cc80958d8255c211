// Functions that give the same bits on a CPU and on a GPU. Their libraries' log, exp, sin and cos
// differ in the last bit; additions and multiplications do not, and from these ours are made.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "godwit/kernel.hpp"

namespace gallery {

// log(x), for x above 0.
GODWIT_KERNEL inline float exact_log(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127);
  const float mantissa = std::bit_cast<float>((bits & 0x7f'ffffU) | 0x3f80'0000U);  // 1 to 2
  // log((1 + t) / (1 - t)) = 2 (t + t^3 / 3 + t^5 / 5 + ...), and t is at most a third.
  const float t = (mantissa - 1) / (mantissa + 1);
  const float s = t * t;
  const float sum = t * (1 + s * (1 / 3.0F + s * (1 / 5.0F + s * (1 / 7.0F + s * (1 / 9.0F)))));
  return exponent * 0.693147181F + 2 * sum;
}

// exp(-x), for x from 0.
GODWIT_KERNEL inline float exact_decay(float x) {
  const float halvings = x * 1.44269504F;
  const float whole = std::floor(halvings);
  if (whole > 125) return 0;
  const float z = (halvings - whole) * 0.693147181F;
  const float part =
      1 - z * (1 - z / 2 * (1 - z / 3 * (1 - z / 4 * (1 - z / 5 * (1 - z / 6 * (1 - z / 7))))));
  return part * std::bit_cast<float>((127U - static_cast<std::uint32_t>(whole)) << 23);
}

}  // namespace gallery
