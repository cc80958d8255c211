#include <algorithm>
#include <array>

#include "base/fail.hpp"
#include "fleet/pulled_edges.hpp"
#include "fleet/query.hpp"
#include "fleet/rows.hpp"

namespace godwit::graph {
namespace {

// Vertices of one round of a scan.
constexpr std::size_t kScanVertices = 65'536;

// Bindings of all variables, row after row.
using Rows = std::vector<TermId>;

// One step for many rows: first all the edges they may need, then the join here.
class PullStep {
 public:
  PullStep(const FleetGraph& where, const Graph& graph, const Step& step, std::uint32_t variables)
      : where_(where), graph_(graph), step_(step), variables_(variables) {}

  Result<Rows> apply(const Rows& rows, std::uint64_t max_cells) {
    max_cells_ = max_cells;
    std::vector<TermId> vertices;
    if (step_.access == Access::scan) {
      for (TermId vertex = 0; vertex < graph_.terms(); ++vertex) vertices.push_back(vertex);
    } else {
      for (std::size_t at = 0; at < rows.size(); at += variables_) {
        vertices.push_back(value_of(key(), &rows[at]));
      }
      std::ranges::sort(vertices);
      vertices.erase(std::ranges::unique(vertices).begin(), vertices.end());
    }
    for (std::size_t at = 0; at < vertices.size(); at += kScanVertices) {
      const std::size_t count = std::min(kScanVertices, vertices.size() - at);
      GODWIT_CHECK(join(rows, std::span(vertices).subspan(at, count)));
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] const Slot& key() const {
    return step_.access == Access::in ? step_.object : step_.subject;
  }
  [[nodiscard]] TermId value_of(const Slot& slot, const TermId* row) const {
    return slot.is_variable() ? row[slot.variable] : slot.term;
  }

  Status join(const Rows& rows, std::span<const TermId> vertices) {
    GODWIT_TRY(const PulledEdges pulled,
               pull_edges(step_.access == Access::in ? where_.in() : where_.out(), vertices));
    for (std::size_t at = 0; at < rows.size(); at += variables_) {
      const TermId wanted = value_of(key(), &rows[at]);
      if (step_.access == Access::scan) {
        for (std::size_t i = 0; i < vertices.size(); ++i) {
          extend(&rows[at], vertices[i], pulled.of(i));
        }
        continue;
      }
      const auto found = std::ranges::lower_bound(vertices, wanted);
      if (found == vertices.end() || *found != wanted) continue;
      extend(&rows[at], wanted, pulled.of(static_cast<std::size_t>(found - vertices.begin())));
    }
    if (found_.size() <= max_cells_) return {};
    return fail(ErrorCode::too_large, "a step of the query has more than {} rows; add a FILTER",
                max_cells_ / variables_);
  }

  void extend(const TermId* row, TermId vertex, std::span<const Edge> edges) {
    for (const Edge edge : with_label(edges, value_of(step_.predicate, row))) {
      const Triple triple = step_.access == Access::in
                                ? Triple{target_of(edge), label_of(edge), vertex}
                                : Triple{vertex, label_of(edge), target_of(edge)};
      std::array<TermId, kMaxVariables> bindings{};
      std::copy_n(row, variables_, bindings.begin());
      const auto agrees = [&](const Slot& slot, TermId term) {
        const TermId known = value_of(slot, bindings.data());
        if (known == kNoTerm) bindings[slot.variable] = term;
        return known == kNoTerm || known == term;
      };
      const bool matches = agrees(step_.subject, triple.subject) &&
                           agrees(step_.predicate, triple.predicate) &&
                           agrees(step_.object, triple.object) &&
                           std::ranges::all_of(step_.filters, [&](const PreparedFilter& filter) {
                             return filter.holds(graph_, bindings);
                           });
      if (matches) found_.insert(found_.end(), bindings.begin(), bindings.begin() + variables_);
    }
  }

  const FleetGraph& where_;
  const Graph& graph_;
  const Step& step_;
  std::uint32_t variables_;
  std::uint64_t max_cells_ = 0;
  Rows found_;
};

}  // namespace

Result<Table> query_by_pull(const FleetGraph& where, const Graph& graph, const Query& query,
                            const Plan& plan, const EvaluateOptions& options) {
  RowSink sink(query, options);
  if (!plan.missing.empty() || sink.is_full()) return std::move(sink).take();
  // A query without variables still has a row: one column nobody looks at.
  const std::uint32_t width = std::max<std::uint32_t>(plan.variables, 1);
  Rows rows(width, kNoTerm);
  for (const Step& step : plan.steps) {
    GODWIT_TRY(rows, PullStep(where, graph, step, width).apply(rows, options.max_rows * width));
  }
  for (std::size_t at = 0; at < rows.size(); at += width) {
    GODWIT_CHECK(sink.add(std::span(rows).subspan(at, width)));
  }
  return std::move(sink).take();
}

}  // namespace godwit::graph
