// PageRank: where a walker ends up who follows edges at random, and now and then jumps anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/walk.hpp"
#include "data/graph.hpp"

namespace godwit::graph {

struct PageRankOptions {
  double damping = 0.85;  // how likely the walker follows an edge
  std::uint32_t max_iterations = 100;
  double tolerance = 1e-9;  // ends when an iteration moves less than this, in sum
  TermId label = kNoTerm;   // kNoTerm: all edges
};

struct PageRank {
  std::vector<double> ranks;  // of every vertex, 0 for those that take no part; together 1
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;  // followed, in all iterations
  std::uint32_t iterations = 0;
  double moved = 0;  // by the last iteration, in sum
};

// Vertices without edges out send the walker anywhere. Each iteration reads every edge once, in a
// fixed order, so the same graph gives the same bits.
[[nodiscard]] PageRank page_rank(const Graph& graph, const PageRankOptions& options = {});

// The vertices of the highest rank, highest first; of equals the smaller id.
[[nodiscard]] std::vector<TermId> top_ranked(const PageRank& result, std::size_t count);

}  // namespace godwit::graph
