// How many triples match a pattern, as far as statistics tell.
#pragma once

#include "data/graph.hpp"
#include "query/plan.hpp"

namespace godwit::graph {

// One bit for each variable that has a value.
using VariableSet = std::uint32_t;
static_assert(kMaxVariables <= 32);

[[nodiscard]] inline bool is_known(const Slot& slot, VariableSet bound) noexcept {
  return !slot.is_variable() || (bound >> slot.variable & 1U) != 0;
}
[[nodiscard]] VariableSet variables_of(const Step& step) noexcept;

// Expected matches of a step's pattern for one binding of the variables in `bound`: counted exactly
// for the pattern's constants, then divided by how many different values each bound variable could
// have there. Costs a few binary searches.
[[nodiscard]] double expected_matches(const Graph& graph, const Step& step, VariableSet bound);

}  // namespace godwit::graph
