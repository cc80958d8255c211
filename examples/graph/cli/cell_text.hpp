// What cells of tables, for people and for programs, are written as.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::graph::cli {

// Digits in groups of three: 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);
// One field of a CSV file (RFC 4180), in quotes if it needs them.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace godwit::graph::cli
