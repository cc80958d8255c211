#include "duration.hpp"

#include <cmath>
#include <cstdlib>

#include "base/fail.hpp"

namespace godwit::cli {
namespace {

constexpr double kMaxSeconds = 366.0 * 24 * 3600;

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string_view unit_name(end);
  for (const Unit& unit : kUnits) {
    const double seconds = number * unit.seconds;
    if (unit.name != unit_name || end == copy.c_str() || !(seconds > 0) || seconds > kMaxSeconds) {
      continue;
    }
    return std::chrono::nanoseconds(std::llround(std::max(1.0, seconds * 1e9)));
  }
  return fail(ErrorCode::invalid_argument,
              "'{}' is no time: write 50us, 200ms, 5s, 2m or 1h, at most a year", text);
}

std::string format_duration(std::chrono::nanoseconds time) {
  const double ns = static_cast<double>(time.count());
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string format_age(std::chrono::nanoseconds time) {
  const std::int64_t s = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (s < 60) return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1e9);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

}  // namespace godwit::cli
