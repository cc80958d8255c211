// Algorithms that look at every edge of a graph in a fleet, in two ways. They give what
// connected_components() and page_rank() give (algorithms); ranks differ in the last digits, as
// sums are made in another order.
#pragma once

#include "algorithms/components.hpp"
#include "algorithms/pagerank.hpp"
#include "fleet/fleet_graph.hpp"

namespace godwit::graph {

// Each node needs 4 bytes for every vertex of the graph while it works. Edges are not counted.
Result<Components> components_by_travel(const FleetGraph& where, TermId label = kNoTerm);
// Each edge comes here once.
Result<Components> components_by_pull(const FleetGraph& where, TermId label = kNoTerm);

// The nodes keep 8 bytes a vertex, and each a row of sums from every other one.
// Edges are not counted.
Result<PageRank> page_rank_by_travel(const FleetGraph& where, const PageRankOptions& options = {});
// Every edge comes here once an iteration.
Result<PageRank> page_rank_by_pull(const FleetGraph& where, const PageRankOptions& options = {});

}  // namespace godwit::graph
