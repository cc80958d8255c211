#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "data/number.hpp"
#include "fleet/failure.hpp"
#include "fleet/query.hpp"
#include "fleet/rows.hpp"

namespace godwit::graph {
namespace {

static_assert(kBySubject == static_cast<std::uint32_t>(Access::out));
static_assert(kByObject == static_cast<std::uint32_t>(Access::in));
static_assert(kByScan == static_cast<std::uint32_t>(Access::scan));
static_assert(kNotAVariable == kNoVariable);

// Calls that one call may become.
constexpr std::uint64_t kMaxParts = 64;

// Rows expected of the first step up to which it runs on the polling thread.
constexpr double kLightRows = 4096;

using Match = std::vector<TermId>(Journey, std::span<const TravelStep>, std::span<const Condition>,
                                  std::span<const std::uint32_t>, std::span<const TermId>,
                                  std::span<const TermId>);

Place place_of(const Slot& slot) {
  return {slot.term, slot.variable};
}

bool is_order(Comparison comparison) {
  return comparison != Comparison::equal && comparison != Comparison::not_equal;
}

// A side of a filter that nodes can decide; false if its text would be needed.
bool to_operand(const Graph& graph, const QueryTerm& term, Comparison comparison, Operand& out) {
  if (const auto* variable = std::get_if<Variable>(&term)) {
    out.place.variable = variable->number;
    return true;
  }
  const auto& spelling = std::get<std::string>(term);
  out.number = number_of(spelling);
  out.place.term = graph.dictionary().find(spelling).value_or(kNoTerm);
  return !std::isnan(out.number) || !is_order(comparison);
}

// A plan as it travels, and what is left to be decided at home.
struct Packed {
  std::vector<TravelStep> steps;
  std::vector<Condition> conditions;
  std::vector<PreparedFilter> at_home;
  std::vector<std::uint32_t> wanted;
};

std::uint32_t variable_of(const QueryTerm& term) {
  const auto* variable = std::get_if<Variable>(&term);
  return variable == nullptr ? kNoVariable : variable->number;
}

// After which step all variables of the filter have values.
std::uint32_t step_of(const Plan& plan, const Filter& filter) {
  std::uint32_t step = 0;
  for (const std::uint32_t wanted : {variable_of(filter.left), variable_of(filter.right)}) {
    if (wanted == kNoVariable) continue;
    std::uint32_t first = 0;
    for (const Step& candidate : plan.steps) {
      if (candidate.subject.variable == wanted || candidate.predicate.variable == wanted ||
          candidate.object.variable == wanted) {
        break;
      }
      ++first;
    }
    step = std::max(step, first);
  }
  return step;
}

Packed pack(const Graph& graph, const Query& query, const Plan& plan) {
  Packed packed;
  packed.wanted = query.selected;
  for (const Step& step : plan.steps) {
    packed.steps.push_back({place_of(step.subject), place_of(step.predicate), place_of(step.object),
                            static_cast<std::uint32_t>(step.access)});
  }
  for (const Filter& filter : query.filters) {
    Condition condition{.step = step_of(plan, filter),
                        .comparison = static_cast<std::uint32_t>(filter.comparison)};
    // Two variables may turn out to be strings, whose order only the dictionary knows.
    const bool both = std::holds_alternative<Variable>(filter.left) &&
                      std::holds_alternative<Variable>(filter.right);
    if (!(both && is_order(filter.comparison)) &&
        to_operand(graph, filter.left, filter.comparison, condition.left) &&
        to_operand(graph, filter.right, filter.comparison, condition.right)) {
      packed.conditions.push_back(condition);
      continue;
    }
    packed.at_home.push_back(PreparedFilter::from(filter));
    for (const QueryTerm* term : {&filter.left, &filter.right}) {
      if (variable_of(*term) != kNoVariable) packed.wanted.push_back(variable_of(*term));
    }
  }
  return packed;
}

// Where the first step begins: one row, at the owner of its constant or everywhere.
struct Start {
  std::vector<std::size_t> shards = {};
  std::uint32_t step = 0;
};

// A query that is not light needs workers: it looks at all vertices, or has many rows at once, or
// has no other node to go on at when it has been on a polling thread for long enough.
bool is_light(const FleetGraph& where, const Plan& plan) {
  const bool scans =
      std::ranges::any_of(plan.steps, [](const Step& step) { return step.access == Access::scan; });
  return !scans && where.nodes().size() > 1 && plan.steps.front().rows <= kLightRows;
}

Start start_of(const FleetGraph& where, const Step& first) {
  if (first.access == Access::out) return {{where.shard_of(first.subject.term)}};
  if (first.access == Access::in) return {{where.shard_of(first.object.term)}};
  Start start{.step = kScanHere};
  for (std::size_t shard = 0; shard < where.nodes().size(); ++shard) start.shards.push_back(shard);
  return start;
}

std::uint32_t splits_for(std::size_t nodes) {
  std::uint32_t splits = 1;
  for (std::uint64_t parts = nodes; nodes > 2 && parts * (nodes - 1) <= kMaxParts; ++splits) {
    parts *= nodes - 1;
  }
  return splits;
}

}  // namespace

Result<Table> query_by_travel(const FleetGraph& where, const Graph& graph, const Query& query,
                              const Plan& plan, const EvaluateOptions& options) {
  RowSink sink(query, options);
  if (!plan.missing.empty() || sink.is_full()) return std::move(sink).take();
  GODWIT_TRY(const auto match,
             where.code().function<Match>(is_light(where, plan) ? "match" : "match_many"));
  const Packed packed = pack(graph, query, plan);
  const Start start = start_of(where, plan.steps.front());
  const Journey journey{where.ref(), plan.variables, splits_for(where.nodes().size())};
  const std::vector<TermId> none;
  std::vector<Future<std::vector<TermId>>> calls;
  for (const std::size_t shard : start.shards) {
    const std::vector<TermId> row{start.step, static_cast<TermId>(shard), 1};  // knows nothing yet
    calls.push_back(match.on(where.nodes()[shard])(journey, packed.steps, packed.conditions,
                                                   packed.wanted, none, row));
  }
  std::vector<TermId> bindings(plan.variables, kNoTerm);
  const std::size_t width = packed.wanted.size();
  for (auto& call : calls) {
    const auto rows = call.get();
    if (!rows) return failed("the query", rows.error());
    for (std::size_t at = 0; at + width <= rows->size(); at += width) {
      for (std::size_t i = 0; i < width; ++i) bindings[packed.wanted[i]] = (*rows)[at + i];
      const bool holds = std::ranges::all_of(packed.at_home, [&](const PreparedFilter& filter) {
        return filter.holds(graph, bindings);
      });
      if (holds) GODWIT_CHECK(sink.add(bindings));
    }
  }
  return std::move(sink).take();
}

}  // namespace godwit::graph
