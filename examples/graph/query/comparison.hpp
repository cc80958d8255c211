// The comparisons of filters. Light enough for mobile code.
#pragma once

#include <compare>
#include <cstdint>

namespace godwit::graph {

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

// Whether two values that are so ordered satisfy it; those without an order are not equal.
[[nodiscard]] constexpr bool satisfies(std::partial_ordering order,
                                       Comparison comparison) noexcept {
  switch (comparison) {
    case Comparison::equal: return order == 0;
    case Comparison::not_equal: return order != 0;
    case Comparison::less: return order < 0;
    case Comparison::less_equal: return order <= 0;
    case Comparison::greater: return order > 0;
    case Comparison::greater_equal: return order >= 0;
  }
  return false;
}

}  // namespace godwit::graph
