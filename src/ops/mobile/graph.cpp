// What lies around a vertex of a graph, in compressed sparse rows: frontiers go from home to home.
//
// Shard s of `offsets` and shard s of `targets` lie on one node, and are a graph in compressed
// sparse rows of their own: the targets of the shard's i-th vertex are those of its shard from
// offsets[i] to before offsets[i + 1]. A shard of n vertices has n + 1 offsets.
#include <godwit/mobile/vector.hpp>

#include <algorithm>
#include <iterator>

#include "shard.hpp"

namespace godwit::ops {
namespace {

using Vertices = std::vector<std::uint64_t>;

// Vertices sent in one message.
constexpr std::size_t kVerticesPerCall = std::size_t{1} << 16;

struct Rows {
  RegionView<std::uint64_t> offsets;

  [[nodiscard]] std::uint64_t per_shard() const { return offsets.map().abi().chunk - 1; }
  [[nodiscard]] std::uint64_t shard_of(std::uint64_t vertex) const { return vertex / per_shard(); }
  // Where the vertex's first offset is.
  [[nodiscard]] std::uint64_t row(std::uint64_t vertex) const {
    return shard_of(vertex) * (per_shard() + 1) + vertex % per_shard();
  }
};

void sort_unique(Vertices& vertices) {
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
}

Rows rows_of(Here& here, std::uint64_t offsets) {
  Rows rows{here.region<std::uint64_t>(offsets)};
  if (rows.offsets.map().abi().chunk < 2) refuse(kInvalidArgument, "it has no room for a vertex");
  return rows;
}

}  // namespace

// All neighbours of vertices of this node, each once, in order.
Vertices expand(Here& here, std::uint64_t offsets, std::uint64_t targets,
                std::span<const std::uint64_t> vertices) {
  const Rows rows = rows_of(here, offsets);
  const std::span<const std::uint64_t> edges = here.region<std::uint64_t>(targets).local();
  Vertices found;
  for (const std::uint64_t vertex : vertices) {
    const std::uint64_t row = rows.row(vertex);
    if (!rows.offsets.owns(row) || !rows.offsets.owns(row + 1))
      refuse(kInvalidArgument, "vertex %llu is not on this node", as_printed(vertex));
    const std::uint64_t begin = rows.offsets[row];
    const std::uint64_t end = rows.offsets[row + 1];
    if (begin > end || end > edges.size())
      refuse(kInvalidArgument, "vertex %llu has edges %llu to %llu of %zu", as_printed(vertex),
             as_printed(begin), as_printed(end), edges.size());
    found.insert(found.end(), edges.begin() + begin, edges.begin() + end);
  }
  sort_unique(found);
  return found;
}
GODWIT_EXPORT(expand);

namespace {

// The neighbours of a level's vertices, which are in order and so lie shard by shard.
Vertices expand_everywhere(Here& here, const Rows& rows, std::uint64_t targets,
                           const Vertices& level) {
  std::vector<Pending<Vertices>> calls;
  std::span<const std::uint64_t> own;  // done here, while the others are at work
  for (auto begin = level.begin(); begin != level.end();) {
    const std::uint64_t shard = rows.shard_of(*begin);
    auto end = std::partition_point(
        begin, level.end(), [&](std::uint64_t vertex) { return rows.shard_of(vertex) == shard; });
    const std::uint64_t row = rows.row(*begin);
    if (rows.offsets.owns(row)) {
      own = {begin, end};
      begin = end;
      continue;
    }
    if (static_cast<std::size_t>(end - begin) > kVerticesPerCall) end = begin + kVerticesPerCall;
    const Node owner = rows.offsets.owner(row);
    if (!owner && row < rows.offsets.size())
      refuse(kNodeLost, "the shard of vertex %llu is lost", as_printed(*begin));
    if (!owner) refuse(kInvalidArgument, "an edge leads to vertex %llu", as_printed(*begin));
    calls.push_back(here.call<expand>(owner, rows.offsets.id(), targets,
                                      std::span<const std::uint64_t>(begin, end)));
    begin = end;
  }
  Vertices found = expand(here, rows.offsets.id(), targets, own);
  for (Pending<Vertices>& call : calls) {
    const Vertices part = call.get();
    found.insert(found.end(), part.begin(), part.end());
  }
  sort_unique(found);
  return found;
}

}  // namespace

// Runs where its first vertex lies, and asks the homes of each level's vertices at the same time.
Vertices k_hop(Here& here, std::uint64_t offsets, std::uint64_t targets, std::uint64_t from,
               std::uint32_t hops, std::uint64_t at_most) {
  const Rows rows = rows_of(here, offsets);
  Vertices reached{from};
  Vertices level{from};
  for (std::uint32_t hop = 0; hop < hops && !level.empty(); ++hop) {
    const Vertices found = expand_everywhere(here, rows, targets, level);
    level.clear();
    std::set_difference(found.begin(), found.end(), reached.begin(), reached.end(),
                        std::back_inserter(level));
    if (reached.size() + level.size() > at_most)
      refuse(kTooLarge, "more than %llu vertices lie within %u hops", as_printed(at_most), hop + 1);
    Vertices both;
    both.reserve(reached.size() + level.size());
    std::merge(reached.begin(), reached.end(), level.begin(), level.end(),
               std::back_inserter(both));
    reached.swap(both);
  }
  return reached;
}
GODWIT_EXPORT(k_hop);

}  // namespace godwit::ops
