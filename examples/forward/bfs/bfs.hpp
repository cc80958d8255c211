// Breadth-first search over a graph that no rank has as a whole: visits go to the owners of the
// vertices, one level a round.
#pragma once

#include <cstdint>
#include <vector>

#include "bfs/graph.hpp"
#include "common/image.hpp"
#include "godwit/group.hpp"

namespace gallery::bfs {

inline constexpr int kPlotEdge = 384;  // dots

// How many edges fall into each dot of the matrix of vertices by vertices, and the sum of the
// levels of their first ends.
struct Plot {
  std::vector<std::uint64_t> edges;
  std::vector<std::uint64_t> levels;
};

struct Search {
  std::vector<std::uint32_t> levels;  // of each vertex
  std::uint64_t edges = 0;            // between vertices that were reached
  double seconds = 0;                 // without making the graph
  Plot plot;
};

// Every rank calls it. What was found is rank 0's.
Search search(godwit::Group& group, const Options& options);

// The levels of this rank's vertices; every rank calls it.
std::vector<std::uint32_t> find_levels_on_gpu(godwit::Group& group, const Options& options,
                                              const LocalGraph& graph);

// The same levels, found by one thread with a queue, which knows nothing of ranks.
std::vector<std::uint32_t> search_alone(const Options& options);

// How many vertices each level has.
std::vector<std::uint64_t> count_levels(const std::vector<std::uint32_t>& levels);

// The matrix of edges, coloured by level, and beside it how many vertices each level has.
Image draw(const Search& search);

}  // namespace gallery::bfs
