#include "query/filter.hpp"

#include <cmath>
#include <compare>

#include "data/number.hpp"
#include "ntriples/spelling.hpp"

namespace godwit::graph {
namespace {

Value value_from(double number, std::string_view spelling) {
  if (!std::isnan(number)) return {Value::Kind::number, number, {}};
  if (is_string(spelling)) return {Value::Kind::string, 0, plain_text(spelling)};
  return {Value::Kind::other, 0, std::string(spelling)};
}

std::partial_ordering order(const Value& left, const Value& right) {
  if (left.kind == Value::Kind::number) return left.number <=> right.number;
  const auto texts = left.text <=> right.text;
  if (left.kind == Value::Kind::string || texts == 0) return texts;
  return std::partial_ordering::unordered;
}

PreparedFilter::Operand prepare(const QueryTerm& term) {
  if (const auto* variable = std::get_if<Variable>(&term)) return *variable;
  return value_of(std::get<std::string>(term));
}

// A variable's value is made for the occasion; a constant's is there.
template <class Use>
bool with_value(const Graph& graph, std::span<const TermId> bindings,
                const PreparedFilter::Operand& operand, Use&& use) {
  if (const auto* value = std::get_if<Value>(&operand)) return use(*value);
  return use(value_of(graph, bindings[std::get<Variable>(operand).number]));
}

}  // namespace

Value value_of(std::string_view spelling) {
  return value_from(number_of(spelling), spelling);
}

Value value_of(const Graph& graph, TermId term) {
  return value_from(graph.numbers()[term], graph.dictionary().spelling(term));
}

bool compare(const Value& left, Comparison comparison, const Value& right) {
  const auto result =
      left.kind == right.kind ? order(left, right) : std::partial_ordering::unordered;
  const bool or_equal =
      comparison == Comparison::less_equal || comparison == Comparison::greater_equal;
  return satisfies(result, comparison) && !(or_equal && left.kind == Value::Kind::other);
}

PreparedFilter PreparedFilter::from(const Filter& filter) {
  return {prepare(filter.left), filter.comparison, prepare(filter.right)};
}

bool PreparedFilter::holds(const Graph& graph, std::span<const TermId> bindings) const {
  return with_value(graph, bindings, left, [&](const Value& left_value) {
    return with_value(graph, bindings, right, [&](const Value& right_value) {
      return compare(left_value, comparison, right_value);
    });
  });
}

}  // namespace godwit::graph
