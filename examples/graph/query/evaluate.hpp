// The reference: answers a query on one thread, over a whole graph in memory, by index joins.
// Every other way to answer has to give the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/graph.hpp"
#include "godwit/error.hpp"
#include "query/plan.hpp"
#include "query/query.hpp"

namespace godwit::graph {

struct EvaluateOptions {
  std::uint64_t max_rows = 10'000'000;
  // About a minute's work; a query that multiplies unrelated patterns ends here.
  std::uint64_t max_edges = 5'000'000'000;
};

// Rows of terms, one after the other.
class Table {
 public:
  explicit Table(std::vector<std::string> columns = {}) : columns_(std::move(columns)) {}

  [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }
  [[nodiscard]] std::uint64_t rows() const noexcept {
    return columns_.empty() ? 0 : cells_.size() / columns_.size();
  }
  [[nodiscard]] std::span<const TermId> row(std::uint64_t number) const noexcept {
    return std::span(cells_).subspan(number * columns_.size(), columns_.size());
  }
  void add(std::span<const TermId> row) { cells_.insert(cells_.end(), row.begin(), row.end()); }
  // By columns from the left, so that tables with the same rows are equal.
  void sort();
  friend bool operator==(const Table&, const Table&) = default;

 private:
  std::vector<std::string> columns_;
  std::vector<TermId> cells_;
};

struct Answer {
  Table table;
  std::uint64_t edges = 0;  // looked at on the way
};

// Rows come in the order of the plan: always the same for one graph and query. Fails with too_large
// at the limits.
Result<Answer> evaluate(const Graph& graph, const Query& query, const Plan& plan,
                        const EvaluateOptions& options = {});
Result<Answer> evaluate(const Graph& graph, const Query& query,
                        const EvaluateOptions& options = {});

}  // namespace godwit::graph
