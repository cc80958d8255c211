// Edges of vertices anywhere in the fleet, fetched with region gets: as many vertices at a time as
// the caller has, in two rounds of messages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fleet/fleet_graph.hpp"

namespace godwit::graph {

struct PulledEdges {
  std::vector<Edge> edges;
  std::vector<std::uint64_t> ends;  // where the edges of the i-th vertex end

  [[nodiscard]] std::span<const Edge> of(std::size_t number) const noexcept {
    const std::uint64_t begin = number == 0 ? 0 : ends[number - 1];
    return std::span(edges).subspan(begin, ends[number] - begin);
  }
};

// Of so many vertices at a time algorithms pull what they need.
inline constexpr std::size_t kPullVertices = 65'536;

// First the ranges, then the edges themselves.
Result<PulledEdges> pull_edges(const EdgeRegions& from, std::span<const TermId> vertices);

// Of the edges of one vertex, those with a label; kNoTerm: all.
[[nodiscard]] std::span<const Edge> with_label(std::span<const Edge> edges, TermId label);

}  // namespace godwit::graph
