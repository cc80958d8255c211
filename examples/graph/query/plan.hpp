// In which order a query's patterns are matched, and how: chosen by the graph's statistics.
//
// A plan is integers and filters; whoever has the graph's arrays, or a part of them, can carry it
// out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/graph.hpp"
#include "query/filter.hpp"
#include "query/query.hpp"

namespace godwit::graph {

inline constexpr std::uint32_t kNoVariable = 0xFFFF'FFFF;

// One place of a pattern: a term of the graph, or a variable.
struct Slot {
  TermId term = kNoTerm;
  std::uint32_t variable = kNoVariable;
  [[nodiscard]] bool is_variable() const noexcept { return variable != kNoVariable; }
};

// Where a step's candidates come from.
enum class Access : std::uint8_t {
  out,   // the subject is known: its edges
  in,    // the object is known: the edges that end there
  scan,  // neither: the edges of all vertices
};
[[nodiscard]] std::string_view to_string(Access access) noexcept;

struct Step {
  std::uint32_t pattern = 0;  // its place in the query
  Slot subject = {};
  Slot predicate = {};
  Slot object = {};
  Access access = Access::scan;
  double rows = 0;  // expected after this step
  // Those of the query's filters whose variables all have values from this step on.
  std::vector<PreparedFilter> filters = {};
};

struct Plan {
  std::vector<Step> steps = {};
  std::uint32_t variables = 0;
  std::vector<std::uint32_t> selected = {};
  // A term that the query names and the graph does not have: there is no answer. Empty otherwise.
  std::string missing = {};
};

// Looks at every order of the patterns, 2^patterns * patterns steps of arithmetic.
[[nodiscard]] Plan make_plan(const Graph& graph, const Query& query);

// A line for each step, for people.
[[nodiscard]] std::string explain(const Graph& graph, const Query& query, const Plan& plan);

}  // namespace godwit::graph
