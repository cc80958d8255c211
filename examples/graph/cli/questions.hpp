// Questions that can be answered in every way, each of which checks its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fleet/fleet_graph.hpp"
#include "fleet/walks.hpp"
#include "query/named_queries.hpp"

namespace godwit::graph::cli {

// The graph, where it lies and its walker outlive it.
struct Question {
  std::string name;
  bool multi_hop = false;   // leads through vertices of other nodes
  std::uint64_t edges = 0;  // that the reference looks at
  // True: the answer is the reference's.
  std::function<Result<bool>()> reference = {};
  std::function<Result<bool>()> travel = {};
  std::function<Result<bool>()> pull = {};
};

[[nodiscard]] Result<Question> ask_query(const FleetGraph& where, const Graph& graph,
                                         const NamedQuery& named);
// kUnreached hops: a breadth-first search. Edges count in both directions.
[[nodiscard]] Question ask_walk(const FleetGraph& where, Walker& walker, const Graph& graph,
                                TermId start, std::uint32_t max_hops);
[[nodiscard]] Question ask_components(const FleetGraph& where, const Graph& graph);
[[nodiscard]] Question ask_page_rank(const FleetGraph& where, const Graph& graph);

// Whatever fits the graph.
[[nodiscard]] Result<std::vector<Question>> all_questions(const FleetGraph& where, Walker& walker,
                                                          const Graph& graph);

// The vertex with the most edges out.
[[nodiscard]] TermId busiest(const Graph& graph);

// The best of several rounds, in seconds; the first also carries the code there. Fails if an answer
// is wrong.
[[nodiscard]] Result<double> best_time(const std::function<Result<bool>()>& ask,
                                       std::uint32_t rounds, const std::string& what);

}  // namespace godwit::graph::cli
