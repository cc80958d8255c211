#include "command_line/byte_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace godwit::cli {
namespace {

constexpr std::array<std::string_view, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};

std::string scaled(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  // Beyond this it would be written as 1024.0.
  constexpr double kMost = 1023.95;
  for (bytes /= 1024; bytes >= kMost && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace

std::string byte_text(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes));
}

std::string rate_text(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? scaled(static_cast<double>(bytes) / seconds) + "/s" : "-";
}

}  // namespace godwit::cli
