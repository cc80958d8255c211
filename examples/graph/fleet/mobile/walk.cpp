// A breadth-first walk whose frontier never leaves the nodes: each one expands its own part of a
// level, and tells the owners of what it met.
#include <vector>

#include "fleet/mobile/local_graph.hpp"

namespace godwit::graph {
namespace {

constexpr std::uint64_t mark_of(const WalkRef& walk, std::uint32_t distance) {
  return static_cast<std::uint64_t>(walk.run) << 32U | distance;
}

// Marks the vertex unless this walk has been there. Marks of older runs count as none.
bool reach(const WritableRegion<std::uint64_t>& marks, const WalkRef& walk, TermId vertex,
           std::uint32_t distance) {
  const std::atomic_ref<std::uint64_t> mark = marks.atomic(vertex);
  std::uint64_t before = mark.load(std::memory_order_relaxed);
  while (before >> 32U != walk.run) {
    if (mark.compare_exchange_weak(before, mark_of(walk, distance), std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace

// Reaches vertices of this node; returns how many of them are new.
std::uint64_t visit(Here& here, WalkRef walk, std::uint32_t distance,
                    std::span<const TermId> vertices) {
  const auto marks = here.writable_region<std::uint64_t>(walk.marks);
  std::uint64_t found = 0;
  for (const TermId vertex : vertices) {
    if (marks.owns(vertex) && reach(marks, walk, vertex, distance)) ++found;
  }
  return found;
}
GODWIT_EXPORT(visit);

// Follows the edges of this node's vertices at that distance.
LevelDone advance(Here& here, WalkRef walk, std::uint32_t distance) {
  const auto marks = here.writable_region<std::uint64_t>(walk.marks);
  const std::uint32_t shards = marks.map().abi().shards;
  std::vector<std::vector<TermId>> elsewhere(shards);
  std::vector<bool> told(marks.size());  // an owner hears of a vertex once
  LevelDone done;
  const auto follow = [&](const LocalEdges& edges, TermId vertex) {
    for (const Edge edge : edges.of(vertex, walk.label)) {
      const TermId target = target_of(edge);
      ++done.edges;
      if (marks.owns(target)) {
        if (reach(marks, walk, target, distance + 1)) ++done.found;
      } else if (!told[target]) {
        told[target] = true;
        elsewhere[target % shards].push_back(target);
      }
    }
  };
  const LocalEdges out(here, walk.graph.out_ranges, walk.graph.out_edges);
  const LocalEdges in(here, walk.graph.in_ranges, walk.graph.in_edges);
  const auto mine = marks.local();
  for (std::uint64_t i = 0; i < mine.size(); ++i) {
    const auto vertex = static_cast<TermId>(marks.index_of(i));
    if (detail::load_element(&mine[i]) != mark_of(walk, distance)) continue;
    if (walk.follow_out != 0) follow(out, vertex);
    if (walk.follow_in != 0) follow(in, vertex);
  }
  std::vector<Pending<std::uint64_t>> calls;
  for (const std::vector<TermId>& vertices : elsewhere) {
    if (vertices.empty()) continue;
    calls.push_back(here.call<visit>(marks.owner(vertices.front()), walk, distance + 1, vertices));
  }
  for (Pending<std::uint64_t>& call : calls) done.found += call.get();
  return done;
}
GODWIT_EXPORT(advance);

// What the walk reached on this node.
std::vector<Reached> reached(Here& here, WalkRef walk) {
  const auto marks = here.region<std::uint64_t>(walk.marks);
  const auto mine = marks.local();
  std::vector<Reached> found;
  for (std::uint64_t i = 0; i < mine.size(); ++i) {
    if (mine[i] >> 32U != walk.run) continue;
    found.push_back({static_cast<TermId>(marks.index_of(i)), static_cast<std::uint32_t>(mine[i])});
  }
  return found;
}
GODWIT_EXPORT(reached);

}  // namespace godwit::graph
