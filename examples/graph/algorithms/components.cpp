#include "algorithms/components.hpp"

#include <algorithm>
#include <utility>

namespace godwit::graph {
namespace {

// Sets of vertices; the smallest vertex of a set is its root, so the outcome does not depend on the
// order of edges.
class DisjointSets {
 public:
  explicit DisjointSets(std::uint32_t count) : parents_(count) {
    for (TermId vertex = 0; vertex < count; ++vertex) parents_[vertex] = vertex;
  }
  TermId root(TermId vertex) {
    while (parents_[vertex] != vertex) {
      parents_[vertex] = parents_[parents_[vertex]];  // halves the path for those to come
      vertex = parents_[vertex];
    }
    return vertex;
  }
  void join(TermId a, TermId b) {
    a = root(a);
    b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<TermId> parents_;
};

}  // namespace

Components connected_components(const Graph& graph, TermId label) {
  Components result;
  DisjointSets sets(graph.terms());
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    for (const Edge edge : edges_of(graph.out(), vertex, label)) {
      sets.join(vertex, target_of(edge));
      ++result.edges;
    }
  }
  result.smallest.assign(graph.terms(), kNoTerm);
  std::vector<std::uint64_t> sizes(graph.terms(), 0);
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    if (!takes_part(graph, vertex, label)) continue;
    const TermId root = sets.root(vertex);
    result.smallest[vertex] = root;
    ++result.vertices;
    if (sizes[root]++ == 0) ++result.components;
    result.largest = std::max(result.largest, sizes[root]);
  }
  return result;
}

}  // namespace godwit::graph
