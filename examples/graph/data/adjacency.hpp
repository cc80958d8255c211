// The edges of every vertex in one direction: two arrays of 64-bit integers.
//
//   offsets  where each vertex's edges begin, and at the end where the last one's end
//   edges    sorted within a vertex, by label and then by target; none twice
//
// A range of vertices is a range of both arrays, so a graph is dealt out by cutting them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/edge.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

// The edges of the vertices from `first` on, wherever the arrays lie. Light enough for mobile code.
struct AdjacencyView {
  TermId first = 0;
  std::span<const std::uint64_t> offsets;  // one more than there are vertices
  std::span<const Edge> edges;             // edges[0] is the one at offsets[0]

  [[nodiscard]] std::uint32_t vertices() const noexcept {
    return offsets.empty() ? 0 : static_cast<std::uint32_t>(offsets.size() - 1);
  }
  // The vertex must be of this view; costs two loads.
  [[nodiscard]] std::span<const Edge> edges_of(TermId vertex) const noexcept {
    const std::uint64_t begin = offsets[vertex - first];
    return edges.subspan(begin - offsets[0], offsets[vertex - first + 1] - begin);
  }
  // Those with one label; costs two binary searches.
  [[nodiscard]] std::span<const Edge> edges_of(TermId vertex, TermId label) const noexcept {
    const std::span<const Edge> all = edges_of(vertex);
    const auto begin = std::lower_bound(all.begin(), all.end(), make_edge(label, 0));
    const auto end = std::upper_bound(begin, all.end(), make_edge(label, kNoTerm));
    return {begin, end};
  }
  [[nodiscard]] bool has(TermId vertex, Edge edge) const noexcept {
    const std::span<const Edge> all = edges_of(vertex);
    return std::binary_search(all.begin(), all.end(), edge);
  }
  // `count` vertices from `from` on, without a copy; they must be of this view.
  [[nodiscard]] AdjacencyView slice(TermId from, std::uint32_t count) const noexcept {
    const auto part = offsets.subspan(from - first, count + std::size_t{1});
    return {from, part, edges.subspan(part.front() - offsets[0], part.back() - part.front())};
  }
};

class Adjacency {
 public:
  Adjacency() : offsets_(1, 0) {}
  // By subject; ids must be below `vertices`. Triples that stand there twice count once.
  static Adjacency from(std::span<const Triple> triples, std::uint32_t vertices);
  // From the arrays that view() gave; fails if they are not such.
  static Result<Adjacency> from(std::vector<std::uint64_t> offsets, std::vector<Edge> edges);

  // The same edges, found by their targets.
  [[nodiscard]] Adjacency reversed() const;

  // Valid as long as this object, also after it has been moved.
  [[nodiscard]] AdjacencyView view() const noexcept { return {0, offsets_, edges_}; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return offsets_.capacity() * sizeof(offsets_[0]) + edges_.capacity() * sizeof(edges_[0]);
  }

 private:
  Adjacency(std::vector<std::uint64_t> offsets, std::vector<Edge> edges)
      : offsets_(std::move(offsets)), edges_(std::move(edges)) {}
  void sort_and_drop_repeats();

  std::vector<std::uint64_t> offsets_;
  std::vector<Edge> edges_;
};

}  // namespace godwit::graph
