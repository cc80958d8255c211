// Times, fractions, rates and sizes as people write them. Errors: invalid_argument, with examples.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::netlab {

[[nodiscard]] Result<std::chrono::nanoseconds> parse_time(std::string_view text);  // 300us, 5ms, 0
[[nodiscard]] Result<double> parse_fraction(std::string_view text);                // 0.1%, 0.001
// Bytes per second: 1Gbit, 100Mbit, 10MB; 0 for no limit.
[[nodiscard]] Result<std::uint64_t> parse_rate(std::string_view text);
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);  // 64KiB, 1MiB, 1500

}  // namespace godwit::netlab
