// Literals that are numbers.
#pragma once

#include <string_view>

namespace godwit::graph {

// The value of a literal, in canonical spelling, whose datatype is one of XML Schema's numeric
// ones; NaN for every other term. Integers beyond 2^53 are rounded to the nearest double.
[[nodiscard]] double number_of(std::string_view spelling) noexcept;

}  // namespace godwit::graph
