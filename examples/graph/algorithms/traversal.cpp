#include "algorithms/traversal.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace godwit::graph {
namespace {

// Goes outward level by level. `is_new` says whether a vertex is met for the first time, and
// remembers it; `done` gets every level.
template <class IsNew, class Done>
std::uint64_t expand(const Graph& graph, TermId start, const Walk& walk, std::uint32_t max_hops,
                     IsNew&& is_new, Done&& done) {
  std::uint64_t edges = 0;
  std::vector<TermId> frontier{start};
  is_new(start, 0);
  for (std::uint32_t hop = 0; !frontier.empty(); ++hop) {
    done(frontier);
    if (hop == max_hops) break;
    std::vector<TermId> next;
    for (const TermId vertex : frontier) {
      for_each_neighbour(graph, walk, vertex, [&](TermId neighbour) {
        ++edges;
        if (is_new(neighbour, hop + 1)) next.push_back(neighbour);
      });
    }
    frontier = std::move(next);
  }
  return edges;
}

}  // namespace

BreadthFirst breadth_first(const Graph& graph, TermId start, const Walk& walk,
                           std::uint32_t max_hops) {
  BreadthFirst result;
  result.distances.assign(graph.terms(), kUnreached);
  const auto is_new = [&](TermId vertex, std::uint32_t distance) {
    if (result.distances[vertex] != kUnreached) return false;
    result.distances[vertex] = distance;
    return true;
  };
  result.edges = expand(graph, start, walk, max_hops, is_new, [&](const auto& frontier) {
    result.levels.push_back(frontier.size());
    result.reached += frontier.size();
  });
  return result;
}

Neighbourhood k_hop(const Graph& graph, TermId start, const Walk& walk, std::uint32_t hops) {
  Neighbourhood result;
  std::unordered_set<TermId> met;
  const auto is_new = [&](TermId vertex, std::uint32_t) { return met.insert(vertex).second; };
  result.edges = expand(graph, start, walk, hops, is_new, [&](auto& frontier) {
    std::ranges::sort(frontier);
    result.levels.push_back(frontier.size());
    result.vertices.insert(result.vertices.end(), frontier.begin(), frontier.end());
  });
  return result;
}

}  // namespace godwit::graph
