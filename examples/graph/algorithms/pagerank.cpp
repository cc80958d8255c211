#include "algorithms/pagerank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace godwit::graph {

PageRank page_rank(const Graph& graph, const PageRankOptions& options) {
  PageRank result;
  std::vector<TermId> members;
  std::vector<double> degrees(graph.terms(), 0);
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    if (!takes_part(graph, vertex, options.label)) continue;
    members.push_back(vertex);
    degrees[vertex] = static_cast<double>(edges_of(graph.out(), vertex, options.label).size());
  }
  result.vertices = members.size();
  result.ranks.assign(graph.terms(), 0);
  if (members.empty()) return result;
  const double share = 1.0 / static_cast<double>(members.size());
  for (const TermId vertex : members) result.ranks[vertex] = share;

  std::vector<double> sent(graph.terms(), 0);  // by each vertex along each of its edges
  while (result.iterations < options.max_iterations) {
    double stranded = 0;
    for (const TermId vertex : members) {
      if (degrees[vertex] > 0) {
        sent[vertex] = result.ranks[vertex] / degrees[vertex];
      } else {
        stranded += result.ranks[vertex];
      }
    }
    const double base = (1 - options.damping + options.damping * stranded) * share;
    result.moved = 0;
    for (const TermId vertex : members) {
      double received = 0;
      const auto edges = edges_of(graph.in(), vertex, options.label);
      for (const Edge edge : edges) received += sent[target_of(edge)];
      result.edges += edges.size();
      const double rank = base + options.damping * received;
      result.moved += std::abs(rank - result.ranks[vertex]);
      result.ranks[vertex] = rank;
    }
    ++result.iterations;
    if (result.moved < options.tolerance) break;
  }
  return result;
}

std::vector<TermId> top_ranked(const PageRank& result, std::size_t count) {
  std::vector<TermId> order;
  for (TermId vertex = 0; vertex < result.ranks.size(); ++vertex) {
    if (result.ranks[vertex] > 0) order.push_back(vertex);
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](TermId a, TermId b) {
    return std::pair(-result.ranks[a], a) < std::pair(-result.ranks[b], b);
  });
  order.erase(end, order.end());
  return order;
}

}  // namespace godwit::graph
