// An R-MAT graph (few vertices with very many edges, many with few), spread over ranks: vertex v
// and its edges are with rank v % ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "godwit/group.hpp"

namespace gallery::bfs {

struct Options {
  int scale = 16;        // 2^scale vertices
  int edge_factor = 16;  // edges for each of them
  int workers = 1;       // threads that run the kernel on each rank
  bool gpu = false;      // runs it on the GPU instead

  [[nodiscard]] std::uint32_t vertices() const { return std::uint32_t{1} << scale; }
  [[nodiscard]] std::int64_t edges() const { return std::int64_t{vertices()} * edge_factor; }
};

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// Edge `number` of the graph: from the number alone, so that any rank can make any of them.
Edge make_edge(const Options& options, std::int64_t number);

// Where the search begins: one end of the first edge, surely a vertex that has one.
std::uint32_t root(const Options& options);

// The vertices of one rank. Neighbours of its i-th vertex: neighbours[begin[i]] to begin[i + 1].
struct LocalGraph {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> neighbours;
};

// How many vertices a rank has.
std::uint32_t local_vertices(const Options& options, godwit::Rank rank, godwit::Rank ranks);

// Every rank calls it: makes its share of the edges, and sends each to the ranks of its two ends.
LocalGraph make_graph(godwit::Group& group, const Options& options);

}  // namespace gallery::bfs
