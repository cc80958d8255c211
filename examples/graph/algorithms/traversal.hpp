// Breadth-first search, and neighbourhoods of a few hops.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/walk.hpp"
#include "data/graph.hpp"

namespace godwit::graph {

inline constexpr std::uint32_t kUnreached = 0xFFFF'FFFF;

struct BreadthFirst {
  std::vector<std::uint32_t> distances;  // of every vertex from the start; or kUnreached
  std::vector<std::uint64_t> levels;     // how many vertices have each distance; levels[0] is 1
  std::uint64_t reached = 0;             // the start included
  std::uint64_t edges = 0;               // followed
};

// From a vertex of the graph, at most `max_hops` away. Costs 4 bytes a vertex.
[[nodiscard]] BreadthFirst breadth_first(const Graph& graph, TermId start, const Walk& walk,
                                         std::uint32_t max_hops = kUnreached);

struct Neighbourhood {
  std::vector<TermId> vertices;       // by distance, then by id; the start comes first
  std::vector<std::uint64_t> levels;  // as above
  std::uint64_t edges = 0;
};

// Everything within `hops`. Memory grows with what is found, not with the graph.
[[nodiscard]] Neighbourhood k_hop(const Graph& graph, TermId start, const Walk& walk,
                                  std::uint32_t hops);

}  // namespace godwit::graph
