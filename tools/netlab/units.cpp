#include "netlab/units.hpp"

#include <cmath>
#include <cstdlib>
#include <span>

#include "base/fail.hpp"

namespace godwit::netlab {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
struct Quantity {
  std::string_view what;
  std::string_view examples;
  std::span<const Unit> units;
  double largest;
};

constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kFractions[] = {{"%", 0.01}, {"", 1}};
constexpr Unit kRates[] = {{"Kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6},
                           {"KB", 1e3},   {"MB", 1e6},     {"GB", 1e9}};
constexpr Unit kSizes[] = {{"", 1}, {"KiB", 1024}, {"MiB", 1048576}};

constexpr Quantity kTime{"time", "300us, 5ms, 0.5s or 0", kTimes, 3600e9};
constexpr Quantity kFraction{"fraction", "0.1%, 0.001 or 0", kFractions, 1};
constexpr Quantity kRate{"rate", "1Gbit, 100Mbit, 10MB (bytes per second) or 0", kRates, 1e12};
constexpr Quantity kSize{"size", "1500, 64KiB or 1MiB", kSizes, 1e12};

Result<double> parse(std::string_view text, const Quantity& quantity) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string_view unit_name(end);
  const bool is_zero = end != copy.c_str() && number == 0 && unit_name.empty();
  if (is_zero) return 0.0;
  for (const Unit& unit : quantity.units) {
    const double value = number * unit.factor;
    if (unit.name != unit_name || end == copy.c_str()) continue;
    if (value >= 0 && value <= quantity.largest) return value;
  }
  return fail(ErrorCode::invalid_argument, "'{}' is no {}: write {}", text, quantity.what,
              quantity.examples);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_time(std::string_view text) {
  GODWIT_TRY(const double ns, parse(text, kTime));
  return std::chrono::nanoseconds(std::llround(ns));
}

Result<double> parse_fraction(std::string_view text) {
  return parse(text, kFraction);
}

Result<std::uint64_t> parse_rate(std::string_view text) {
  GODWIT_TRY(const double rate, parse(text, kRate));
  return static_cast<std::uint64_t>(std::llround(rate));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  GODWIT_TRY(const double size, parse(text, kSize));
  return static_cast<std::uint64_t>(std::llround(size));
}

}  // namespace godwit::netlab
