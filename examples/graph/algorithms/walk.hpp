// Which edges an algorithm follows.
#pragma once

#include <cstdint>
#include <span>

#include "data/graph.hpp"

namespace godwit::graph {

enum class Direction : std::uint8_t { out, in, both };

struct Walk {
  TermId label = kNoTerm;  // kNoTerm: edges with any label
  Direction direction = Direction::out;
};

// The vertex's edges in one direction, as far as the walk follows their label.
[[nodiscard]] inline std::span<const Edge> edges_of(AdjacencyView adjacency, TermId vertex,
                                                    TermId label) noexcept {
  return label == kNoTerm ? adjacency.edges_of(vertex) : adjacency.edges_of(vertex, label);
}

// Calls visit(TermId) for each neighbour, once per edge.
template <class Visit>
void for_each_neighbour(const Graph& graph, const Walk& walk, TermId vertex, Visit&& visit) {
  if (walk.direction != Direction::in) {
    for (const Edge edge : edges_of(graph.out(), vertex, walk.label)) visit(target_of(edge));
  }
  if (walk.direction != Direction::out) {
    for (const Edge edge : edges_of(graph.in(), vertex, walk.label)) visit(target_of(edge));
  }
}

// True if the vertex has an edge that counts, in any direction. Others are no part of the graph
// that an algorithm looks at: predicates are terms too.
[[nodiscard]] inline bool takes_part(const Graph& graph, TermId vertex, TermId label) noexcept {
  return !edges_of(graph.out(), vertex, label).empty() ||
         !edges_of(graph.in(), vertex, label).empty();
}

}  // namespace godwit::graph
