// Connected components: edges count in both directions.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/walk.hpp"
#include "data/graph.hpp"

namespace godwit::graph {

struct Components {
  // For every vertex the smallest id of its component; kNoTerm for those that take no part.
  std::vector<TermId> smallest;
  std::uint64_t vertices = 0;  // that take part
  std::uint64_t components = 0;
  std::uint64_t largest = 0;  // vertices of the largest one
  std::uint64_t edges = 0;    // looked at
};

// By union-find. kNoTerm as label counts every edge.
[[nodiscard]] Components connected_components(const Graph& graph, TermId label = kNoTerm);

}  // namespace godwit::graph
