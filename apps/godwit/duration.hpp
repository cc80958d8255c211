// Times as people write and read them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::cli {

// "5s", "200ms", "50us", "2m", "1h"; the number may have a fraction. Error: invalid_argument.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
// "1.25 us", "3.40 ms", "2.00 s"
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds time);
// "12.3 s", "2 min 5 s", "3 h 12 min", "4 d 1 h"
[[nodiscard]] std::string format_age(std::chrono::nanoseconds time);
// Microseconds, for programs that read JSON.
[[nodiscard]] constexpr double us(std::chrono::nanoseconds time) noexcept {
  return static_cast<double>(time.count()) / 1e3;
}

}  // namespace godwit::cli
