#include "data/adjacency.hpp"

#include <numeric>

#include "base/fail.hpp"

namespace godwit::graph {

Adjacency Adjacency::from(std::span<const Triple> triples, std::uint32_t vertices) {
  std::vector<std::uint64_t> offsets(vertices + std::size_t{1}, 0);
  for (const Triple& triple : triples) ++offsets[triple.subject + std::size_t{1}];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<Edge> edges(triples.size());
  std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
  for (const Triple& triple : triples) {
    edges[next[triple.subject]++] = make_edge(triple.predicate, triple.object);
  }
  Adjacency adjacency(std::move(offsets), std::move(edges));
  adjacency.sort_and_drop_repeats();
  return adjacency;
}

Result<Adjacency> Adjacency::from(std::vector<std::uint64_t> offsets, std::vector<Edge> edges) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != edges.size() ||
      offsets.size() - 1 > kNoTerm) {
    return fail(ErrorCode::bad_format, "{} offsets do not divide {} edges among vertices",
                offsets.size(), edges.size());
  }
  for (std::size_t vertex = 0; vertex + 1 < offsets.size(); ++vertex) {
    if (offsets[vertex] > offsets[vertex + 1] || offsets[vertex + 1] > edges.size()) {
      return fail(ErrorCode::bad_format, "the edges of vertex {} are from {} to {} of {}", vertex,
                  offsets[vertex], offsets[vertex + 1], edges.size());
    }
    for (std::uint64_t at = offsets[vertex]; at < offsets[vertex + 1]; ++at) {
      const bool sorted = at == offsets[vertex] || edges[at - 1] < edges[at];
      if (!sorted || std::max(label_of(edges[at]), target_of(edges[at])) >= offsets.size() - 1) {
        return fail(ErrorCode::bad_format, "edge {} of vertex {} is out of order or range",
                    at - offsets[vertex], vertex);
      }
    }
  }
  return Adjacency(std::move(offsets), std::move(edges));
}

Adjacency Adjacency::reversed() const {
  std::vector<std::uint64_t> offsets(offsets_.size(), 0);
  for (const Edge edge : edges_) ++offsets[target_of(edge) + std::size_t{1}];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<Edge> edges(edges_.size());
  std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
  const AdjacencyView here = view();
  for (TermId source = 0; source < here.vertices(); ++source) {
    for (const Edge edge : here.edges_of(source)) {
      edges[next[target_of(edge)]++] = make_edge(label_of(edge), source);
    }
  }
  Adjacency result(std::move(offsets), std::move(edges));
  result.sort_and_drop_repeats();
  return result;
}

void Adjacency::sort_and_drop_repeats() {
  std::uint64_t kept = 0;
  for (std::size_t vertex = 0; vertex + 1 < offsets_.size(); ++vertex) {
    const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(offsets_[vertex]);
    const auto end = edges_.begin() + static_cast<std::ptrdiff_t>(offsets_[vertex + 1]);
    std::sort(begin, end);
    const std::uint64_t first = kept;
    offsets_[vertex] = first;
    for (auto edge = begin; edge != end; ++edge) {
      if (kept == first || edges_[kept - 1] != *edge) edges_[kept++] = *edge;
    }
  }
  offsets_.back() = kept;
  edges_.resize(kept);
  edges_.shrink_to_fit();
}

}  // namespace godwit::graph
