// A query's stay on one node: rows come in, each takes all the steps whose edges lie here, and what
// is not done then waits for the owners of other vertices.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "fleet/mobile/local_graph.hpp"
#include "query/comparison.hpp"

namespace godwit::graph {

using Rows = std::vector<TermId>;

// What a query carries from node to node.
struct Order {
  std::span<const TravelStep> steps;
  std::span<const Condition> conditions;
  std::span<const std::uint32_t> wanted;
};

class Stay {
 public:
  // Looks at about `max_edges`; rows that come to that wait for this node itself.
  Stay(Here& here, const Journey& journey, const Order& order, std::uint64_t max_edges)
      : order_(order),
        edges_left_(max_edges),
        out_(here, journey.graph.out_ranges, journey.graph.out_edges),
        in_(here, journey.graph.in_ranges, journey.graph.in_edges),
        numbers_(here, journey.graph.numbers) {
    if (journey.variables > kMaxVariables || order.steps.size() > kMaxSteps) {
      throw std::invalid_argument("the query has too many variables or patterns");
    }
    bindings_.fill(kNoTerm);
    find_known(journey.variables);
    waiting_.resize(out_.shards() * order.steps.size() * 2);
  }

  // Blocks of rows (fleet/shapes.hpp), checked: they come from elsewhere. Those for other nodes
  // wait.
  void take(std::span<const TermId> blocks) {
    while (!blocks.empty()) {
      if (blocks.size() < kBlockHead) throw std::invalid_argument("half a block of rows");
      const Head head{blocks[0], blocks[1], blocks[2]};
      const std::uint32_t step = head.word & ~kScanHere;
      if (step >= order_.steps.size() || head.shard >= shards()) {
        throw std::invalid_argument("rows beyond the plan or the graph");
      }
      const std::size_t width = known_[step].size();
      blocks = blocks.subspan(kBlockHead);
      // Rows that know nothing are all the same.
      if (width == 0 ? head.count > 1 : head.count > blocks.size() / width) {
        throw std::invalid_argument("half a row");
      }
      const auto cells = blocks.first(head.count * width);
      blocks = blocks.subspan(cells.size());
      head.shard == out_.shard() ? take_own(head, cells) : pass_on(head, cells);
    }
  }

  // Finished rows: only the wanted variables.
  Rows done;

  [[nodiscard]] bool is_over() const noexcept { return rows_left_ == 0; }
  [[nodiscard]] std::size_t rows_left() const noexcept { return rows_left_; }
  // Some of those that wait are bound to the node they are for.
  [[nodiscard]] bool scans() const noexcept { return scans_; }
  // Some wait for this node.
  [[nodiscard]] bool is_cut_short() const noexcept { return cut_short_; }
  [[nodiscard]] Node home(std::uint32_t shard) const { return out_.home(shard); }
  [[nodiscard]] std::uint32_t shards() const noexcept { return out_.shards(); }

  // What waits for a shard, and for all of them.
  [[nodiscard]] Rows waiting_for(std::uint32_t shard) const {
    Rows rows;
    const std::size_t blocks = order_.steps.size() * 2;
    for (std::size_t i = 0; i < blocks; ++i) append(rows, waiting_[shard * blocks + i]);
    return rows;
  }
  [[nodiscard]] Rows waiting() const {
    Rows rows;
    for (const Rows& block : waiting_) append(rows, block);
    return rows;
  }
  [[nodiscard]] std::size_t rows_waiting_for(std::uint32_t shard) const {
    std::size_t rows = 0;
    const std::size_t blocks = order_.steps.size() * 2;
    for (std::size_t i = 0; i < blocks; ++i) {
      const Rows& block = waiting_[shard * blocks + i];
      rows += block.empty() ? 0 : block[2];
    }
    return rows;
  }
  // The next shard of the ring for which rows wait, or simply the next: a round of all nodes takes
  // every row at least one step further.
  [[nodiscard]] std::uint32_t next_shard() const {
    for (std::uint32_t i = 1; i < shards(); ++i) {
      const std::uint32_t shard = (out_.shard() + i) % shards();
      if (rows_waiting_for(shard) > 0) return shard;
    }
    return (out_.shard() + 1) % shards();
  }

 private:
  static constexpr std::size_t kMaxVariables = 24;
  static constexpr std::size_t kMaxSteps = 8;
  // Cells that one stay may produce, 256 MB: a query that multiplies without end stops here.
  static constexpr std::size_t kMaxCells = std::size_t{1} << 26U;

  struct Head {
    std::uint32_t word = 0;  // the step, and whether it is a scan
    std::uint32_t shard = 0;
    std::uint32_t count = 0;
  };

  static void append(Rows& rows, std::span<const TermId> more) {
    rows.insert(rows.end(), more.begin(), more.end());
  }

  void take_own(const Head& head, std::span<const TermId> cells) {
    const std::uint32_t step = head.word & ~kScanHere;
    const std::vector<std::uint32_t>& known = known_[step];
    bindings_.fill(kNoTerm);
    for (std::uint32_t row = 0; row < head.count; ++row) {
      for (std::size_t i = 0; i < known.size(); ++i) bindings_[known[i]] = cells[i];
      cells = cells.subspan(known.size());
      head.word == step ? match(step) : scan(step);
    }
  }
  void pass_on(const Head& head, std::span<const TermId> cells) {
    Rows& block = block_for(head.word, head.shard);
    block[2] += head.count;
    rows_left_ += head.count;
    scans_ = scans_ || (head.word & kScanHere) != 0;
    append(block, cells);
    count_cells(cells.size());
  }

  // Which variables have values when a step begins.
  void find_known(std::uint32_t variables) {
    for (std::size_t step = 0; step + 1 < order_.steps.size(); ++step) {
      known_[step + 1] = known_[step];
      const TravelStep& now = order_.steps[step];
      for (const Place& place : {now.subject, now.predicate, now.object}) {
        if (place.variable == kNotAVariable) continue;
        if (place.variable >= variables) throw std::invalid_argument("a variable beyond the query");
        known_[step + 1].push_back(place.variable);
      }
      std::ranges::sort(known_[step + 1]);
      const auto repeats = std::ranges::unique(known_[step + 1]);
      known_[step + 1].erase(repeats.begin(), repeats.end());
    }
  }

  void match(std::uint32_t step) {
    if (step == order_.steps.size()) return emit();
    const TravelStep& now = order_.steps[step];
    if (now.access == kByScan) return scan_everywhere(step);
    const bool by_subject = now.access == kBySubject;
    const LocalEdges& edges = by_subject ? out_ : in_;
    const TermId vertex = value_of(by_subject ? now.subject : now.object);
    if (vertex >= edges.vertices()) throw std::invalid_argument("a vertex beyond the graph");
    if (!edges.owns(vertex)) return leave(step, edges.shard_of(vertex));
    if (edges_left_ == 0) {
      cut_short_ = true;
      return leave(step, edges.shard());
    }
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
    look_at(edges.size());
    for (const Edge edge : edges) bind(step, {subject, label_of(edge), target_of(edge)});
  }

  void match_in(std::uint32_t step, TermId object) {
    const auto edges = in_.of(object, value_of(order_.steps[step].predicate));
    look_at(edges.size());
    for (const Edge edge : edges) bind(step, {target_of(edge), label_of(edge), object});
  }

  void look_at(std::uint64_t edges) { edges_left_ -= std::min(edges_left_, edges + 1); }

  void scan(std::uint32_t step) {
    for (std::uint64_t i = 0; i < out_.own_vertices(); ++i) match_out(step, out_.own_vertex(i));
  }

  void scan_everywhere(std::uint32_t step) {
    for (std::uint32_t shard = 0; shard < out_.shards() && shard < out_.vertices(); ++shard) {
      if (shard != out_.shard()) leave(step | kScanHere, shard);
    }
    scans_ = true;
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
  void leave(std::uint32_t word, std::uint32_t shard) {
    Rows& block = block_for(word, shard);
    ++block[2];
    ++rows_left_;
    const std::vector<std::uint32_t>& known = known_[word & ~kScanHere];
    for (const std::uint32_t variable : known) block.push_back(bindings_[variable]);
    count_cells(known.size());
  }
  Rows& block_for(std::uint32_t word, std::uint32_t shard) {
    const std::uint32_t step = word & ~kScanHere;
    const std::size_t kind = step * 2 + (word == step ? 0 : 1);
    Rows& block = waiting_[shard * order_.steps.size() * 2 + kind];
    if (block.empty()) block = {word, shard, 0};
    return block;
  }
  void count_cells(std::size_t cells) {
    cells_ += cells;
    if (cells_ > kMaxCells) throw std::length_error("too many rows; add a LIMIT or a FILTER");
  }

  Order order_;
  std::uint64_t edges_left_;
  LocalEdges out_;
  LocalEdges in_;
  LocalNumbers numbers_;
  std::array<std::vector<std::uint32_t>, kMaxSteps> known_;
  std::array<TermId, kMaxVariables> bindings_;
  std::vector<Rows> waiting_;  // a block by shard, step, and whether it is a scan
  std::size_t rows_left_ = 0;
  bool scans_ = false;
  bool cut_short_ = false;
  std::size_t cells_ = 0;
};

}  // namespace godwit::graph
