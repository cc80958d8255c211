#include "data/number.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace godwit::graph {
namespace {

constexpr std::string_view kSchema = "\"^^<http://www.w3.org/2001/XMLSchema#";
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

constexpr std::string_view kIntegers[] = {"integer",
                                          "int",
                                          "long",
                                          "short",
                                          "byte",
                                          "unsignedLong",
                                          "unsignedInt",
                                          "nonNegativeInteger",
                                          "unsignedByte",
                                          "unsignedShort",
                                          "positiveInteger",
                                          "nonPositiveInteger",
                                          "negativeInteger"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

double parse(std::string_view digits, std::chars_format format) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, format);
  return error == std::errc() && end == digits.end() ? value : kNotANumber;
}

// Without its sign, which from_chars takes only as '-'.
double magnitude(std::string_view digits, std::string_view type) {
  if (digits.empty() || digits.front() == '-' || digits.front() == '+') return kNotANumber;
  if (type == "double" || type == "float") {
    if (digits == "INF") return std::numeric_limits<double>::infinity();
    const bool plain = (digits.front() >= '0' && digits.front() <= '9') || digits.front() == '.';
    return plain ? parse(digits, std::chars_format::general) : kNotANumber;
  }
  if (type == "decimal") return parse(digits, std::chars_format::fixed);
  const bool integer = std::ranges::find(kIntegers, type) != std::ranges::end(kIntegers);
  return integer && is_digits(digits) ? parse(digits, std::chars_format::fixed) : kNotANumber;
}

}  // namespace

double number_of(std::string_view spelling) noexcept {
  if (spelling.empty() || spelling.front() != '"') return kNotANumber;
  const std::size_t end = spelling.rfind(kSchema);
  if (end == std::string_view::npos || end == 0) return kNotANumber;
  std::string_view type = spelling.substr(end + kSchema.size());
  type.remove_suffix(1);
  std::string_view digits = spelling.substr(1, end - 1);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const double value = magnitude(digits, type);
  return negative ? -value : value;
}

}  // namespace godwit::graph
