// Sizes that memory is handed out in: a few between one power of two and the next, so that what is
// freed fits the next request of about that size.
#pragma once

#include <bit>
#include <cstddef>

namespace godwit::ref {

// Multiples of `unit` bytes: all of them up to unit * steps, then `steps` in each doubling. A size
// wastes less than 1 / steps of what was asked for, beyond rounding up to a unit.
struct SizeClasses {
  std::size_t unit = 0;
  unsigned log2_steps = 0;

  // The smallest class with room for `bytes`, of which there is at least one.
  [[nodiscard]] constexpr std::size_t index_of(std::size_t bytes) const noexcept {
    const std::size_t last = (bytes - 1) / unit;
    if (last < steps()) return last;
    const auto doubling = static_cast<unsigned>(std::bit_width(last)) - 1 - log2_steps;
    return steps() * doubling + (last >> doubling);
  }
  [[nodiscard]] constexpr std::size_t bytes_of(std::size_t index) const noexcept {
    if (index < steps()) return (index + 1) * unit;
    const std::size_t doubling = index / steps() - 1;
    return ((steps() + 1 + index % steps()) << doubling) * unit;
  }

 private:
  [[nodiscard]] constexpr std::size_t steps() const noexcept {
    return std::size_t{1} << log2_steps;
  }
};

}  // namespace godwit::ref
