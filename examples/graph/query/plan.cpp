#include "query/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "query/estimate.hpp"
#include "query/prefixes.hpp"

namespace godwit::graph {
namespace {

// One bit for each pattern that has been matched.
using PatternSet = std::uint32_t;

Slot resolve(const Graph& graph, const QueryTerm& term, std::string& missing) {
  if (const auto* variable = std::get_if<Variable>(&term)) return {.variable = variable->number};
  const auto& spelling = std::get<std::string>(term);
  const auto id = graph.dictionary().find(spelling);
  if (!id) missing = spelling;
  return {.term = id.value_or(kNoTerm)};
}

// The cheapest way to have matched a set of patterns.
struct Best {
  double cost = std::numeric_limits<double>::infinity();
  double rows = 0;
  std::uint32_t last = 0;  // the pattern matched last
};

// Rows that are looked at and rows that result; a scan looks at every vertex for each row.
Best extend(const Graph& graph, const Best& before, const Step& step, VariableSet bound) {
  const bool scan = !is_known(step.subject, bound) && !is_known(step.object, bound);
  const double probes = before.rows * (scan ? static_cast<double>(graph.terms()) : 1.0);
  const double rows = before.rows * expected_matches(graph, step, bound);
  return {before.cost + probes + rows, rows, step.pattern};
}

// The patterns in the cheapest order: the best way to match a set is the best way to match all but
// one of it, and then that one.
std::vector<std::uint32_t> cheapest_order(const Graph& graph, const std::vector<Step>& patterns) {
  const PatternSet all = (PatternSet{1} << patterns.size()) - 1;
  std::vector<Best> best(all + std::size_t{1});
  best[0] = {.cost = 0, .rows = 1};
  for (PatternSet done = 0; done < all; ++done) {
    VariableSet bound = 0;
    for (const Step& step : patterns) {
      if ((done >> step.pattern & 1U) != 0) bound |= variables_of(step);
    }
    for (const Step& step : patterns) {
      const PatternSet next = done | PatternSet{1} << step.pattern;
      if (next == done) continue;
      const Best candidate = extend(graph, best[done], step, bound);
      if (candidate.cost < best[next].cost) best[next] = candidate;
    }
  }
  std::vector<std::uint32_t> order;
  for (PatternSet left = all; left != 0; left &= ~(PatternSet{1} << order.back())) {
    order.push_back(best[left].last);
  }
  std::ranges::reverse(order);
  return order;
}

Access access_of(const Step& step, VariableSet bound) {
  if (is_known(step.subject, bound)) return Access::out;
  return is_known(step.object, bound) ? Access::in : Access::scan;
}

VariableSet variables_of(const Filter& filter) {
  VariableSet set = 0;
  for (const QueryTerm* term : {&filter.left, &filter.right}) {
    if (const auto* variable = std::get_if<Variable>(term)) {
      set |= VariableSet{1} << variable->number;
    }
  }
  return set;
}

// Each filter at the first step after which it can be decided.
void place_filters(const Query& query, Plan& plan) {
  for (const Filter& filter : query.filters) {
    const VariableSet needed = variables_of(filter);
    VariableSet bound = 0;
    for (Step& step : plan.steps) {
      bound |= variables_of(step);
      if ((needed & ~bound) != 0) continue;
      step.filters.push_back(PreparedFilter::from(filter));
      break;
    }
  }
}

std::string text_of(const Query& query, const QueryTerm& term) {
  if (const auto* variable = std::get_if<Variable>(&term)) {
    return "?" + query.variables[variable->number];
  }
  return shorten(known_prefixes(), std::get<std::string>(term));
}

}  // namespace

Plan make_plan(const Graph& graph, const Query& query) {
  Plan plan{.variables = static_cast<std::uint32_t>(query.variables.size()),
            .selected = query.selected};
  std::vector<Step> patterns;
  for (const Pattern& pattern : query.patterns) {
    Step step{.pattern = static_cast<std::uint32_t>(patterns.size())};
    step.subject = resolve(graph, pattern.subject, plan.missing);
    step.predicate = resolve(graph, pattern.predicate, plan.missing);
    step.object = resolve(graph, pattern.object, plan.missing);
    patterns.push_back(std::move(step));
  }
  if (!plan.missing.empty()) return plan;
  VariableSet bound = 0;
  double rows = 1;
  for (const std::uint32_t pattern : cheapest_order(graph, patterns)) {
    Step& step = patterns[pattern];
    step.access = access_of(step, bound);
    rows *= expected_matches(graph, step, bound);
    step.rows = rows;
    bound |= variables_of(step);
    plan.steps.push_back(std::move(step));
  }
  place_filters(query, plan);
  return plan;
}

std::string_view to_string(Access access) noexcept {
  switch (access) {
    case Access::out: return "edges of the subject";
    case Access::in: return "edges to the object";
    case Access::scan: return "all edges";
  }
  return "?";
}

std::string explain(const Graph& graph, const Query& query, const Plan& plan) {
  if (!plan.missing.empty()) {
    return fmt::format("nothing to do: the graph has no {}\n",
                       shorten(known_prefixes(), plan.missing));
  }
  std::string text = fmt::format("over {} triples\n", graph.triples());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Pattern& pattern = query.patterns[step.pattern];
    text += fmt::format("{}. {} {} {}\n     by {}; about {:.0f} rows", i + 1,
                        text_of(query, pattern.subject), text_of(query, pattern.predicate),
                        text_of(query, pattern.object), to_string(step.access), step.rows);
    if (!step.filters.empty()) text += fmt::format(", then {} filters", step.filters.size());
    text += '\n';
  }
  return text;
}

}  // namespace godwit::graph
