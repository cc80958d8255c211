// Amounts of bytes, and how fast they go, for people.
#pragma once

#include <cstdint>
#include <string>

namespace godwit::cli {

// "17 B", "1.5 KiB", "2.0 GiB"
[[nodiscard]] std::string byte_text(std::uint64_t bytes);
// "1.5 GiB/s"; of no time "-"
[[nodiscard]] std::string rate_text(std::uint64_t bytes, double seconds);

}  // namespace godwit::cli
