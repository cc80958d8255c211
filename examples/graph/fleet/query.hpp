// Queries over a graph in a fleet, in two ways.
//
//   travel   the query goes to the data: mobile code carries rows of bindings from node to node
//   pull     the data comes to the query: region gets fetch the edges that a step may need
//
// Both give the rows that evaluate() gives (query/evaluate.hpp), in another order; with a LIMIT,
// any so many of them.
#pragma once

#include "fleet/fleet_graph.hpp"
#include "query/evaluate.hpp"
#include "query/plan.hpp"

namespace godwit::graph {

// `graph` is what was loaded; of it only the dictionary is used. Errors: too_large, and how the
// calls ended.
Result<Table> query_by_travel(const FleetGraph& where, const Graph& graph, const Query& query,
                              const Plan& plan, const EvaluateOptions& options = {});
Result<Table> query_by_pull(const FleetGraph& where, const Graph& graph, const Query& query,
                            const Plan& plan, const EvaluateOptions& options = {});

}  // namespace godwit::graph
