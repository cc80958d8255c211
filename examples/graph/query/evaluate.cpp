#include "query/evaluate.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit::graph {
namespace {

struct RowHash {
  std::size_t operator()(const std::vector<TermId>& row) const noexcept {
    std::uint64_t hash = row.size();
    for (const TermId term : row) hash = mix64(hash ^ term);
    return hash;
  }
};

class Evaluation {
 public:
  Evaluation(const Graph& graph, const Query& query, const Plan& plan,
             const EvaluateOptions& options)
      : graph_(graph), query_(query), plan_(plan), options_(options) {
    bindings_.fill(kNoTerm);
    std::vector<std::string> columns;
    for (const std::uint32_t variable : query.selected) {
      columns.push_back(query.variables[variable]);
    }
    answer_.table = Table(std::move(columns));
  }

  Result<Answer> run() {
    if (plan_.missing.empty() && query_.limit != 0U) match(0);
    if (error_) return tl::unexpected(*std::move(error_));
    return std::move(answer_);
  }

 private:
  // All of these give false to stop everything: the limit is reached, or there is an error.
  bool match(std::size_t depth);
  bool match_out(std::size_t depth, TermId subject);
  bool match_in(std::size_t depth, TermId object);
  bool match_edge(std::size_t depth, Triple triple);
  bool emit();
  bool count_edges(std::uint64_t edges);

  [[nodiscard]] TermId value_of(const Slot& slot) const noexcept {
    return slot.is_variable() ? bindings_[slot.variable] : slot.term;
  }

  const Graph& graph_;
  const Query& query_;
  const Plan& plan_;
  const EvaluateOptions& options_;
  std::array<TermId, kMaxVariables> bindings_{};  // kNoTerm: has no value yet
  std::unordered_set<std::vector<TermId>, RowHash> seen_;
  std::vector<TermId> row_;
  Answer answer_;
  std::uint64_t looked_ = 0;  // edges, and the vertices whose edges they are
  std::optional<Error> error_;
};

bool Evaluation::match(std::size_t depth) {
  if (depth == plan_.steps.size()) return emit();
  const Step& step = plan_.steps[depth];
  switch (step.access) {
    case Access::out: return match_out(depth, value_of(step.subject));
    case Access::in: return match_in(depth, value_of(step.object));
    case Access::scan: break;
  }
  for (TermId vertex = 0; vertex < graph_.terms(); ++vertex) {
    if (!match_out(depth, vertex)) return false;
  }
  return true;
}

bool Evaluation::match_out(std::size_t depth, TermId subject) {
  const Step& step = plan_.steps[depth];
  const TermId label = value_of(step.predicate);
  const TermId object = value_of(step.object);
  if (label != kNoTerm && object != kNoTerm) {
    return count_edges(1) && (!graph_.out().has(subject, make_edge(label, object)) ||
                              match_edge(depth, {subject, label, object}));
  }
  const auto edges =
      label == kNoTerm ? graph_.out().edges_of(subject) : graph_.out().edges_of(subject, label);
  if (!count_edges(edges.size())) return false;
  for (const Edge edge : edges) {
    if (!match_edge(depth, {subject, label_of(edge), target_of(edge)})) return false;
  }
  return true;
}

bool Evaluation::match_in(std::size_t depth, TermId object) {
  const TermId label = value_of(plan_.steps[depth].predicate);
  const auto edges =
      label == kNoTerm ? graph_.in().edges_of(object) : graph_.in().edges_of(object, label);
  if (!count_edges(edges.size())) return false;
  for (const Edge edge : edges) {
    if (!match_edge(depth, {target_of(edge), label_of(edge), object})) return false;
  }
  return true;
}

// Binds what the triple says, goes on if that agrees with what is bound already, and takes it back.
bool Evaluation::match_edge(std::size_t depth, Triple triple) {
  const Step& step = plan_.steps[depth];
  const std::pair<const Slot*, TermId> places[] = {{&step.subject, triple.subject},
                                                   {&step.predicate, triple.predicate},
                                                   {&step.object, triple.object}};
  std::array<std::uint32_t, 3> bound_here{};
  std::size_t count = 0;
  bool agrees = true;
  for (const auto& [slot, term] : places) {
    const TermId known = value_of(*slot);
    if (known == kNoTerm) {
      bindings_[slot->variable] = term;
      bound_here[count++] = slot->variable;
    } else if (known != term) {
      agrees = false;
      break;
    }
  }
  agrees = agrees && std::ranges::all_of(step.filters, [&](const PreparedFilter& filter) {
             return filter.holds(graph_, bindings_);
           });
  const bool go_on = !agrees || match(depth + 1);
  for (std::size_t i = 0; i < count; ++i) bindings_[bound_here[i]] = kNoTerm;
  return go_on;
}

bool Evaluation::emit() {
  row_.clear();
  for (const std::uint32_t variable : query_.selected) row_.push_back(bindings_[variable]);
  if (query_.distinct && !seen_.insert(row_).second) return true;
  if (answer_.table.rows() >= options_.max_rows) {
    error_ = Error{
        ErrorCode::too_large,
        fmt::format("the query has more than {} rows; add a LIMIT or a FILTER", options_.max_rows)};
    return false;
  }
  answer_.table.add(row_);
  return !query_.limit || answer_.table.rows() < *query_.limit;
}

bool Evaluation::count_edges(std::uint64_t edges) {
  answer_.edges += edges;
  looked_ += edges + 1;
  if (looked_ <= options_.max_edges) return true;
  error_ = Error{ErrorCode::too_large,
                 fmt::format("the query has looked at {} edges without an end: connect its "
                             "patterns by variables, or add a constant",
                             options_.max_edges)};
  return false;
}

}  // namespace

void Table::sort() {
  std::vector<std::uint64_t> order(rows());
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::uint64_t a, std::uint64_t b) {
    return std::ranges::lexicographical_compare(row(a), row(b));
  });
  std::vector<TermId> cells;
  cells.reserve(cells_.size());
  for (const std::uint64_t number : order) {
    const auto sorted = row(number);
    cells.insert(cells.end(), sorted.begin(), sorted.end());
  }
  cells_ = std::move(cells);
}

Result<Answer> evaluate(const Graph& graph, const Query& query, const Plan& plan,
                        const EvaluateOptions& options) {
  return Evaluation(graph, query, plan, options).run();
}

Result<Answer> evaluate(const Graph& graph, const Query& query, const EvaluateOptions& options) {
  return evaluate(graph, query, make_plan(graph, query), options);
}

}  // namespace godwit::graph
