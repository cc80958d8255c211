// A query as it was written: basic graph patterns with filters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "query/comparison.hpp"

namespace godwit::graph {

inline constexpr std::size_t kMaxPatterns = 8;
inline constexpr std::size_t kMaxFilters = 32;
inline constexpr std::size_t kMaxVariables = 3 * kMaxPatterns;

// A variable by its place in Query::variables.
struct Variable {
  std::uint32_t number = 0;
  friend bool operator==(const Variable&, const Variable&) = default;
};
// A variable, or a term in canonical spelling.
using QueryTerm = std::variant<Variable, std::string>;

struct Pattern {
  QueryTerm subject;
  QueryTerm predicate;
  QueryTerm object;
};

[[nodiscard]] std::string_view to_string(Comparison comparison) noexcept;

// Holds if the comparison does; a query's filters must all hold.
struct Filter {
  QueryTerm left;
  Comparison comparison = Comparison::equal;
  QueryTerm right;
};

struct Query {
  std::vector<std::string> variables;   // without '?', in the order of first mention
  std::vector<std::uint32_t> selected;  // what a row consists of
  bool distinct = false;
  std::vector<Pattern> patterns;
  std::vector<Filter> filters;
  std::optional<std::uint64_t> limit;
};

}  // namespace godwit::graph
