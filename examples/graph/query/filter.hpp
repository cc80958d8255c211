// Comparing values, as FILTER does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "data/graph.hpp"
#include "query/query.hpp"

namespace godwit::graph {

// What a term counts as in a comparison. Numbers compare by value, whatever their datatype; strings
// (without language and datatype) by code points. Other terms are the same or not, and have no
// order; nor have values of different kinds, which are not equal either.
struct Value {
  enum class Kind : std::uint8_t { number, string, other };
  Kind kind = Kind::other;
  double number = 0;
  std::string text;  // of a string; of another term its spelling
};
[[nodiscard]] Value value_of(std::string_view spelling);
[[nodiscard]] Value value_of(const Graph& graph, TermId term);
[[nodiscard]] bool compare(const Value& left, Comparison comparison, const Value& right);

// A filter whose constants have been looked at once.
struct PreparedFilter {
  using Operand = std::variant<Variable, Value>;
  Operand left;
  Comparison comparison = Comparison::equal;
  Operand right;

  static PreparedFilter from(const Filter& filter);
  // `bindings` has a term for each variable that the filter names.
  [[nodiscard]] bool holds(const Graph& graph, std::span<const TermId> bindings) const;
};

}  // namespace godwit::graph
