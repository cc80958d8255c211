#include <algorithm>
#include <numeric>

#include "base/fail.hpp"
#include "fleet/failure.hpp"
#include "fleet/pulled_edges.hpp"
#include "fleet/whole_graph.hpp"

namespace godwit::graph {
namespace {

// From the smallest vertex of each one's component.
void count(Components& result) {
  std::vector<std::uint32_t> sizes(result.smallest.size(), 0);
  for (const TermId root : result.smallest) {
    if (root == kNoTerm) continue;
    ++result.vertices;
    if (sizes[root]++ == 0) ++result.components;
    result.largest = std::max<std::uint64_t>(result.largest, sizes[root]);
  }
}

TermId root_of(std::vector<TermId>& parents, TermId vertex) {
  while (parents[vertex] != vertex) {
    parents[vertex] = parents[parents[vertex]];
    vertex = parents[vertex];
  }
  return vertex;
}

}  // namespace

Result<Components> components_by_travel(const FleetGraph& where, TermId label) {
  using Find = std::vector<TermId>(GraphRef, TermId, std::uint32_t);
  GODWIT_TRY(const auto find, where.code().function<Find>("components"));
  auto found = find.on(where.nodes().front())(where.ref(), label, 0U).get();
  if (!found) return failed("components", found.error());
  if (found->size() != where.vertices()) {
    return fail(ErrorCode::bad_format, "components: {} words for {} vertices", found->size(),
                where.vertices());
  }
  Components result;
  result.smallest = *std::move(found);
  count(result);
  return result;
}

Result<Components> components_by_pull(const FleetGraph& where, TermId label) {
  Components result;
  std::vector<TermId> vertices(where.vertices());
  std::iota(vertices.begin(), vertices.end(), TermId{0});
  std::vector<TermId> parents = vertices;
  std::vector<bool> member(vertices.size());
  for (std::size_t at = 0; at < vertices.size(); at += kPullVertices) {
    const auto part =
        std::span(vertices).subspan(at, std::min(kPullVertices, vertices.size() - at));
    GODWIT_TRY(const PulledEdges pulled, pull_edges(where.out(), part));
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (const Edge edge : with_label(pulled.of(i), label)) {
        const TermId a = root_of(parents, part[i]);
        const TermId b = root_of(parents, target_of(edge));
        parents[std::max(a, b)] = std::min(a, b);
        member[part[i]] = true;
        member[target_of(edge)] = true;
        ++result.edges;
      }
    }
  }
  result.smallest.assign(vertices.size(), kNoTerm);
  for (const TermId vertex : vertices) {
    if (member[vertex]) result.smallest[vertex] = root_of(parents, vertex);
  }
  count(result);
  return result;
}

}  // namespace godwit::graph
