// From complete bindings to the table that was asked for.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "godwit/error.hpp"
#include "query/evaluate.hpp"
#include "query/query.hpp"

namespace godwit::graph {

// Selects, drops repeats if the query is DISTINCT, and stops at its LIMIT. One thread.
class RowSink {
 public:
  RowSink(const Query& query, const EvaluateOptions& options);
  // A term for each of the query's variables. Fails with too_large at the limit.
  Status add(std::span<const TermId> bindings);
  [[nodiscard]] bool is_full() const noexcept;
  [[nodiscard]] Table take() && { return std::move(table_); }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<TermId>& row) const noexcept;
  };
  const Query& query_;
  std::uint64_t max_rows_;
  std::unordered_set<std::vector<TermId>, Hash> seen_;
  std::vector<TermId> row_;
  Table table_;
};

}  // namespace godwit::graph
