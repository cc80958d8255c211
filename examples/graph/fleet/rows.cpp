#include "fleet/rows.hpp"

#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit::graph {
namespace {

std::vector<std::string> columns_of(const Query& query) {
  std::vector<std::string> columns;
  for (const std::uint32_t variable : query.selected) columns.push_back(query.variables[variable]);
  return columns;
}

}  // namespace

std::size_t RowSink::Hash::operator()(const std::vector<TermId>& row) const noexcept {
  std::uint64_t hash = row.size();
  for (const TermId term : row) hash = mix64(hash ^ term);
  return hash;
}

RowSink::RowSink(const Query& query, const EvaluateOptions& options)
    : query_(query), max_rows_(options.max_rows), table_(columns_of(query)) {}

bool RowSink::is_full() const noexcept {
  return query_.limit && table_.rows() >= *query_.limit;
}

Status RowSink::add(std::span<const TermId> bindings) {
  if (is_full()) return {};
  row_.clear();
  for (const std::uint32_t variable : query_.selected) row_.push_back(bindings[variable]);
  if (query_.distinct && !seen_.insert(row_).second) return {};
  if (table_.rows() >= max_rows_) {
    return fail(ErrorCode::too_large, "the query has more than {} rows; add a LIMIT or a FILTER",
                max_rows_);
  }
  table_.add(row_);
  return {};
}

}  // namespace godwit::graph
