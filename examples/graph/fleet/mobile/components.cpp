// Connected components along a tree of the nodes: each one joins what its own edges join, then what
// those below it found, and passes on one word for each vertex of the graph.
#include <algorithm>
#include <vector>

#include "fleet/mobile/local_graph.hpp"

namespace godwit::graph {
namespace {

constexpr std::uint32_t kFanOut = 2;

// Sets of vertices, each known by its smallest. A vertex that no edge has named is in none.
class JoinedVertices {
 public:
  explicit JoinedVertices(std::size_t vertices) : parents_(vertices, kNoTerm) {}

  void join(TermId a, TermId b) {
    a = root(a);
    b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }
  // What smallest() gave elsewhere.
  void join_all(std::span<const TermId> smallest) {
    if (smallest.size() != parents_.size()) {
      ops::refuse(ops::kInvalidArgument, "components of a graph of %zu vertices, not %zu",
                  smallest.size(), parents_.size());
    }
    for (std::size_t vertex = 0; vertex < smallest.size(); ++vertex) {
      if (smallest[vertex] <= vertex) join(static_cast<TermId>(vertex), smallest[vertex]);
    }
  }
  // The smallest of its set for every vertex, or kNoTerm. Ends the sets.
  std::vector<TermId> smallest() && {
    for (TermId& parent : parents_) {
      if (parent != kNoTerm) parent = parents_[parent];  // which is smaller, and so final
    }
    return std::move(parents_);
  }

 private:
  TermId root(TermId vertex) {
    if (parents_[vertex] == kNoTerm) parents_[vertex] = vertex;
    while (parents_[vertex] != vertex) {
      parents_[vertex] = parents_[parents_[vertex]];  // halves the way for those to come
      vertex = parents_[vertex];
    }
    return vertex;
  }
  std::vector<TermId> parents_;
};

}  // namespace

// By the edges of this node's shard and of those below it in the tree. Every edge is one of its
// subject's, so those out of vertices are all there are.
std::vector<TermId> components(Here& here, GraphRef graph, TermId label, std::uint32_t shard) {
  const LocalEdges out(here, graph.out_ranges, graph.out_edges);
  std::vector<Pending<std::vector<TermId>>> below;
  for (std::uint32_t i = 1; i <= kFanOut; ++i) {
    const std::uint64_t child = std::uint64_t{shard} * kFanOut + i;
    if (child >= out.shards()) break;
    const auto number = static_cast<std::uint32_t>(child);
    below.push_back(here.call<components>(out.home(number), graph, label, number));
  }
  JoinedVertices joined(out.vertices());
  for (std::uint64_t i = 0; i < out.own_vertices(); ++i) {
    const TermId vertex = out.own_vertex(i);
    for (const Edge edge : out.of(vertex, label)) joined.join(vertex, target_of(edge));
  }
  for (Pending<std::vector<TermId>>& part : below) joined.join_all(part.get());
  return std::move(joined).smallest();
}
GODWIT_EXPORT(components);

}  // namespace godwit::graph
