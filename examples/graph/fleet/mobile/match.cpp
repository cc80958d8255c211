// A query that travels. Rows of bindings go to where the next step's edges lie; there each one
// takes all the steps it can, and what needs other vertices goes on to their owners.
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "fleet/mobile/local_graph.hpp"
#include "query/comparison.hpp"

namespace godwit::graph {
namespace {

using Rows = std::vector<TermId>;

constexpr std::size_t kMaxVariables = 24;
// Cells that one stay may produce, 256 MB: a query that multiplies without end stops here.
constexpr std::size_t kMaxCells = std::size_t{1} << 26U;

// From so many rows on, several nodes at work at the same time are worth the waiting for them.
constexpr std::size_t kWorthSplitting = 2048;

struct Order {
  std::span<const TravelStep> steps;
  std::span<const Condition> conditions;
  std::span<const std::uint32_t> wanted;
};

class Stay {
 public:
  Stay(Here& here, const Journey& journey, const Order& order)
      : order_(order),
        variables_(journey.variables),
        out_(here, journey.graph.out_ranges, journey.graph.out_edges),
        in_(here, journey.graph.in_ranges, journey.graph.in_edges),
        numbers_(here, journey.graph.numbers) {
    if (variables_ > kMaxVariables) throw std::invalid_argument("the query has too many variables");
  }

  void take(std::span<const TermId> rows) {
    const std::size_t width = variables_ + 1;
    if (rows.size() % width != 0) throw std::invalid_argument("half a row");
    for (std::size_t at = 0; at < rows.size(); at += width) {
      std::ranges::copy(rows.subspan(at + 1, variables_), bindings_);
      const std::uint32_t step = rows[at] & ~kScanHere;
      if (step >= order_.steps.size()) throw std::invalid_argument("a row beyond the plan");
      if ((rows[at] & kScanHere) != 0) {
        scan(step);
      } else {
        match(step);
      }
    }
  }

  [[nodiscard]] bool goes_in_turn(std::uint32_t splits_left) const {
    if (elsewhere.size() == 1) return true;
    return !scans_elsewhere && (splits_left == 0 || rows_elsewhere < kWorthSplitting);
  }
  // In a ring of ids, so that a round of all nodes takes every row at least one step further.
  [[nodiscard]] Node next_after(Node self) const {
    const auto next = elsewhere.upper_bound(self.id);
    return {next == elsewhere.end() ? elsewhere.begin()->first : next->first};
  }

  // Finished: only the wanted variables, row after row.
  Rows done;
  // For other nodes: rows to go on with.
  std::map<std::uint64_t, Rows> elsewhere;
  std::size_t rows_elsewhere = 0;
  bool scans_elsewhere = false;  // some of those are bound to the node they are for

 private:
  void match(std::uint32_t step) {
    if (step == order_.steps.size()) return emit();
    const TravelStep& now = order_.steps[step];
    if (now.access == kByScan) return scan_everywhere(step);
    const bool by_subject = now.access == kBySubject;
    const LocalEdges& edges = by_subject ? out_ : in_;
    const TermId vertex = value_of(by_subject ? now.subject : now.object);
    if (!edges.owns(vertex)) return leave(step, edges.owner(vertex));
    by_subject ? match_out(step, vertex) : match_in(step, vertex);
  }

  void match_out(std::uint32_t step, TermId subject) {
    const TravelStep& now = order_.steps[step];
    const TermId label = value_of(now.predicate);
    const TermId object = value_of(now.object);
    auto edges = out_.of(subject, label);
    if (label != kNoTerm && object != kNoTerm) {
      const auto found = std::ranges::lower_bound(edges, make_edge(label, object));
      const bool exists = found != edges.end() && *found == make_edge(label, object);
      edges = exists ? std::span(found, 1) : std::span<const Edge>();
    }
    for (const Edge edge : edges) bind(step, {subject, label_of(edge), target_of(edge)});
  }

  void match_in(std::uint32_t step, TermId object) {
    for (const Edge edge : in_.of(object, value_of(order_.steps[step].predicate))) {
      bind(step, {target_of(edge), label_of(edge), object});
    }
  }

  void scan(std::uint32_t step) {
    for (std::uint64_t i = 0; i < out_.own_vertices(); ++i) match_out(step, out_.own_vertex(i));
  }

  void scan_everywhere(std::uint32_t step) {
    for (std::uint32_t shard = 0; shard < out_.shards() && shard < out_.vertices(); ++shard) {
      if (!out_.owns(shard)) leave(step | kScanHere, out_.owner(shard));
    }
    scans_elsewhere = true;
    scan(step);
  }

  // Binds what the triple says, goes on if that agrees with what is bound, and takes it back.
  void bind(std::uint32_t step, const Triple& triple) {
    const TravelStep& now = order_.steps[step];
    std::uint32_t bound[3];
    std::size_t count = 0;
    const auto agrees = [&](const Place& place, TermId term) {
      const TermId known = value_of(place);
      if (known != kNoTerm) return known == term;
      bindings_[place.variable] = term;
      bound[count++] = place.variable;
      return true;
    };
    if (agrees(now.subject, triple.subject) && agrees(now.predicate, triple.predicate) &&
        agrees(now.object, triple.object) && holds(step)) {
      match(step + 1);
    }
    while (count > 0) bindings_[bound[--count]] = kNoTerm;
  }

  [[nodiscard]] bool holds(std::uint32_t step) const {
    return std::ranges::all_of(order_.conditions, [&](const Condition& condition) {
      return condition.step != step || holds(condition);
    });
  }
  // Numbers compare by value; other terms are the same or not.
  [[nodiscard]] bool holds(const Condition& condition) const {
    const auto comparison = static_cast<Comparison>(condition.comparison);
    const double left = number_of(condition.left);
    const double right = number_of(condition.right);
    if (!std::isnan(left) && !std::isnan(right)) return satisfies(left <=> right, comparison);
    const bool same = std::isnan(left) && std::isnan(right) &&
                      value_of(condition.left.place) == value_of(condition.right.place);
    return comparison == (same ? Comparison::equal : Comparison::not_equal);
  }
  [[nodiscard]] double number_of(const Operand& operand) const {
    const std::uint32_t variable = operand.place.variable;
    return variable == kNotAVariable ? operand.number : numbers_.of(bindings_[variable]);
  }
  [[nodiscard]] TermId value_of(const Place& place) const {
    return place.variable == kNotAVariable ? place.term : bindings_[place.variable];
  }

  void emit() {
    for (const std::uint32_t variable : order_.wanted) done.push_back(bindings_[variable]);
    count_cells(order_.wanted.size());
  }
  void leave(std::uint32_t step, Node owner) {
    if (!owner) throw std::runtime_error("a shard of the graph is lost; load the graph again");
    Rows& rows = elsewhere[owner.id];
    ++rows_elsewhere;
    rows.push_back(step);
    rows.insert(rows.end(), bindings_, bindings_ + variables_);
    count_cells(variables_ + 1);
  }
  void count_cells(std::size_t cells) {
    cells_ += cells;
    if (cells_ > kMaxCells) throw std::length_error("too many rows; add a LIMIT or a FILTER");
  }

  Order order_;
  std::uint32_t variables_;
  LocalEdges out_;
  LocalEdges in_;
  LocalNumbers numbers_;
  TermId bindings_[kMaxVariables] = {};
  std::size_t cells_ = 0;
};

}  // namespace

// Few rows visit their owners in turn: the call itself moves on with all that is left, and whoever
// is last answers. Many become several calls, whose rows this one waits for.
Next<Rows> match(Here& here, Journey journey, std::span<const TravelStep> steps,
                 std::span<const Condition> conditions, std::span<const std::uint32_t> wanted,
                 std::span<const TermId> finished, std::span<const TermId> rows) {
  Stay stay(here, journey, {steps, conditions, wanted});
  stay.done.assign(finished.begin(), finished.end());
  stay.take(rows);
  if (stay.elsewhere.empty()) return std::move(stay.done);
  if (here.hops_left() > 0 && stay.goes_in_turn(journey.splits_left)) {
    Rows left;
    for (const auto& [owner, part] : stay.elsewhere) {
      left.insert(left.end(), part.begin(), part.end());
    }
    const Node next = stay.next_after(here.self());
    return here.continue_at<match>(next, journey, steps, conditions, wanted, stay.done, left);
  }
  if (journey.splits_left > 0) --journey.splits_left;
  std::vector<Pending<Rows>> parts;
  for (const auto& [owner, part] : stay.elsewhere) {
    parts.push_back(
        here.call<match>(Node{owner}, journey, steps, conditions, wanted, Rows{}, part));
  }
  for (Pending<Rows>& part : parts) {
    const Rows found = part.get();
    stay.done.insert(stay.done.end(), found.begin(), found.end());
  }
  return std::move(stay.done);
}
GODWIT_EXPORT(match);

}  // namespace godwit::graph
