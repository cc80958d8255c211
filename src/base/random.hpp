// Seeded random numbers: the same seed gives the same sequence on every machine. For simulation,
// jitter and picking peers; never for keys or identities (random_node_id() is for those).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace godwit {

// One step of SplitMix64 (Steele, Lea, Flood 2014): turns any 64-bit value into a well-mixed one.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// xoshiro256** (Blackman, Vigna 2018). A value: copying it forks the sequence. Not thread-safe.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_[i] = mix64(seed + i * 0x9E3779B97F4A7C15U);
    }
  }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5U, 7) * 9U;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); bound > 0. Values that would favour small results are drawn again.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t unfair = (0U - bound) % bound;
    std::uint64_t value = next();
    while (value < unfair) value = next();
    return value % bound;
  }

  // Uniform in [0, 1).
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  // True with the given probability. Certain and impossible events draw nothing.
  constexpr bool chance(double probability) noexcept {
    if (probability <= 0) return false;
    return probability >= 1 || unit() < probability;
  }

  // One of the items; there is at least one.
  template <class T>
  constexpr T& pick(std::span<T> items) noexcept {
    return items[below(items.size())];
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace godwit
