#include <algorithm>
#include <numeric>

#include "base/fail.hpp"
#include "fleet/pulled_edges.hpp"
#include "fleet/scratch.hpp"
#include "fleet/whole_graph.hpp"

namespace godwit::graph {
namespace {

constexpr std::size_t kPullVertices = 65'536;

// From the smallest vertex of each one's component.
void count(Components& result) {
  std::vector<std::uint64_t> sizes(result.smallest.size(), 0);
  for (const TermId root : result.smallest) {
    if (root == kNoTerm) continue;
    ++result.vertices;
    if (sizes[root]++ == 0) ++result.components;
    result.largest = std::max(result.largest, sizes[root]);
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
  using Scratchpad = Scratch<std::uint64_t>;
  GODWIT_TRY(const auto begin, where.code().function<void(WalkRef)>("begin_components"));
  GODWIT_TRY(const auto spread,
             where.code().function<LevelDone(WalkRef, std::uint32_t)>("spread_components"));
  GODWIT_TRY(const auto found,
             where.code().function<std::vector<TermId>(WalkRef)>("components_here"));
  GODWIT_TRY(const Scratchpad words,
             Scratchpad::create(where, "components", where.vertices(), Sharding::cyclic()));
  const WalkRef ref{.graph = where.ref(), .marks = words.id(), .label = label};
  for (const NodeHandle& node : where.nodes()) {
    const auto begun = begin.on(node)(ref).get();
    if (!begun) return fail(begun.error().reason, "components: {}", to_string(begun.error()));
  }
  Components result;
  std::uint64_t news = 1;
  for (std::uint32_t round = 1; news > 0; ++round) {
    GODWIT_TRY(const auto rounds, ask_all(where, spread, ref, round));
    news = 0;
    for (const LevelDone& done : rounds) {
      news += done.found;
      result.edges += done.edges;
    }
  }
  GODWIT_TRY(const auto parts, ask_all(where, found, ref));
  result.smallest.assign(where.vertices(), kNoTerm);
  for (std::size_t vertex = 0; vertex < result.smallest.size(); ++vertex) {
    result.smallest[vertex] = parts[vertex % parts.size()].at(vertex / parts.size());
  }
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
