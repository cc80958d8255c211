// A breadth-first walk level by level: each node expands its own part of a level, and tells whoever
// asked, or else the owners, what it met.
#include <utility>
#include <vector>

#include "fleet/mobile/local_graph.hpp"
#include "fleet/mobile/vertex_set.hpp"

namespace godwit::graph {
namespace {

// Vertices that are marked on the polling thread, where others wait: about 50 us.
constexpr std::size_t kLightVisit = 8192;
// Edges that are followed there.
constexpr std::uint64_t kLightExpansion = 32'768;

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

// One step from vertices of this node.
class Expansion {
 public:
  Expansion(Here& here, const WalkRef& walk, std::span<const TermId> vertices)
      : walk_(walk),
        vertices_(vertices),
        out_(here, walk.graph.out_ranges, walk.graph.out_edges),
        in_(here, walk.graph.in_ranges, walk.graph.in_edges) {
    for (const TermId vertex : vertices_) {
      if (!out_.owns(vertex)) continue;
      if (walk_.follow_out != 0) max_edges_ += out_.of(vertex).size();
      if (walk_.follow_in != 0) max_edges_ += in_.of(vertex).size();
    }
  }

  [[nodiscard]] std::uint64_t max_edges() const { return max_edges_; }  // of any label

  // In the form that is surely the shorter one.
  [[nodiscard]] std::vector<TermId> neighbours() const {
    const std::size_t words = words_of_bits(out_.vertices());
    return max_edges_ < words ? list() : bits(words);
  }

 private:
  [[nodiscard]] std::vector<TermId> list() const {
    VertexSet met(max_edges_);
    std::vector<TermId> found(kExpandedHead);
    const std::uint64_t edges = follow([&](TermId target) {
      if (met.insert(target)) found.push_back(target);
    });
    return with_head(std::move(found), edges, kExpandedList);
  }
  [[nodiscard]] std::vector<TermId> bits(std::size_t words) const {
    std::vector<TermId> found(kExpandedHead + words);
    TermId* const met = found.data() + kExpandedHead;
    const std::uint64_t edges =
        follow([&](TermId target) { met[target / 32] |= TermId{1} << target % 32; });
    return with_head(std::move(found), edges, kExpandedBits);
  }
  static std::vector<TermId> with_head(std::vector<TermId> found, std::uint64_t edges,
                                       TermId form) {
    found[0] = static_cast<TermId>(edges);
    found[1] = static_cast<TermId>(edges >> 32U);
    found[2] = form;
    return found;
  }
  // Calls use(target) for each edge; returns how many there are.
  template <class Use>
  std::uint64_t follow(Use&& use) const {
    std::uint64_t edges = 0;
    const auto follow_all = [&](std::span<const Edge> followed) {
      edges += followed.size();
      for (const Edge edge : followed) use(target_of(edge));
    };
    for (const TermId vertex : vertices_) {
      if (!out_.owns(vertex)) continue;
      if (walk_.follow_out != 0) follow_all(out_.of(vertex, walk_.label));
      if (walk_.follow_in != 0) follow_all(in_.of(vertex, walk_.label));
    }
    return edges;
  }

  WalkRef walk_;
  std::span<const TermId> vertices_;
  LocalEdges out_;
  LocalEdges in_;
  std::uint64_t max_edges_ = 0;
};

}  // namespace

// The neighbours of vertices of this node, on a worker; see kExpandedHead.
std::vector<TermId> expand_many(Here& here, WalkRef walk, std::span<const TermId> vertices) {
  return Expansion(here, walk, vertices).neighbours();
}
GODWIT_EXPORT(expand_many);

// The same for vertices that may have few edges.
Next<std::vector<TermId>> expand(Here& here, WalkRef walk, std::span<const TermId> vertices) {
  const Expansion expansion(here, walk, vertices);
  if (expansion.max_edges() > kLightExpansion) {
    return here.continue_at<expand_many>(here.self(), walk, vertices);
  }
  return expansion.neighbours();
}
GODWIT_EXPORT(expand, inline_);

// Marks vertices of this node that the walk has reached already.
void seed(Here& here, WalkRef walk, std::span<const Reached> known) {
  const auto marks = here.writable_region<std::uint64_t>(walk.marks);
  for (const Reached& one : known) {
    if (marks.owns(one.vertex)) reach(marks, walk, one.vertex, one.distance);
  }
}
GODWIT_EXPORT(seed);

// Reaches vertices of this node, on a worker; returns how many of them are new.
std::uint64_t visit_many(Here& here, WalkRef walk, std::uint32_t distance,
                         std::span<const TermId> vertices) {
  const auto marks = here.writable_region<std::uint64_t>(walk.marks);
  std::uint64_t found = 0;
  for (const TermId vertex : vertices) {
    if (marks.owns(vertex) && reach(marks, walk, vertex, distance)) ++found;
  }
  return found;
}
GODWIT_EXPORT(visit_many);

// The same for at most kLightVisit vertices.
std::uint64_t visit(Here& here, WalkRef walk, std::uint32_t distance,
                    std::span<const TermId> vertices) {
  return visit_many(here, walk, distance, vertices);
}
GODWIT_EXPORT(visit, inline_);

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
    const Node owner = out.home(vertices.front() % shards);
    calls.push_back(vertices.size() <= kLightVisit
                        ? here.call<visit>(owner, walk, distance + 1, vertices)
                        : here.call<visit_many>(owner, walk, distance + 1, vertices));
  }
  for (Pending<std::uint64_t>& call : calls) done.found += call.get();
  return done;
}
GODWIT_EXPORT(advance);

// How far the walk found this node's vertices, in the order of offsets: the distance and 1 more, or
// 0. For walks of at most kMaxByteLevels levels.
std::vector<std::uint8_t> distances_here(Here& here, WalkRef walk) {
  const auto mine = here.region<std::uint64_t>(walk.marks).local();
  std::vector<std::uint8_t> found(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] >> 32U == walk.run) found[i] = static_cast<std::uint8_t>(mine[i] + 1);
  }
  return found;
}
GODWIT_EXPORT(distances_here);

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
