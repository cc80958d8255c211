#include "fleet/pulled_edges.hpp"

#include <algorithm>
#include <string_view>

#include "fleet/failure.hpp"

namespace godwit::graph {
namespace {

// From here on a range is fetched as one; shorter ones share a gather.
constexpr std::uint64_t kLongRange = 64;

struct LongRange {
  std::uint64_t to = 0;  // in PulledEdges::edges
  Future<std::vector<Edge>> edges;
};

constexpr std::string_view kPulling = "pulling edges";

}  // namespace

Result<PulledEdges> pull_edges(const EdgeRegions& from, std::span<const TermId> vertices) {
  PulledEdges pulled;
  const std::vector<std::uint64_t> indices(vertices.begin(), vertices.end());
  const auto ranges = from.ranges.gather(indices).get();
  if (!ranges) return failed(kPulling, ranges.error());

  std::vector<LongRange> long_ranges;
  std::vector<std::uint64_t> wanted;
  std::vector<std::uint64_t> to;  // of each wanted one
  std::uint64_t end = 0;
  for (const EdgeRange& range : *ranges) {
    if (range.count >= kLongRange) {
      long_ranges.push_back({end, from.edges.get(range.first, range.count)});
    } else {
      for (std::uint64_t i = 0; i < range.count; ++i) {
        wanted.push_back(range.first + i);
        to.push_back(end + i);
      }
    }
    end += range.count;
    pulled.ends.push_back(end);
  }
  pulled.edges.resize(end);
  const auto found = from.edges.gather(wanted).get();
  if (!found) return failed(kPulling, found.error());
  for (std::size_t i = 0; i < to.size(); ++i) pulled.edges[to[i]] = (*found)[i];
  for (LongRange& range : long_ranges) {
    const auto edges = range.edges.get();
    if (!edges) return failed(kPulling, edges.error());
    std::ranges::copy(*edges, pulled.edges.begin() + static_cast<std::ptrdiff_t>(range.to));
  }
  return pulled;
}

std::span<const Edge> with_label(std::span<const Edge> edges, TermId label) {
  if (label == kNoTerm) return edges;
  const auto begin = std::lower_bound(edges.begin(), edges.end(), make_edge(label, 0));
  return {begin, std::upper_bound(begin, edges.end(), make_edge(label, kNoTerm))};
}

}  // namespace godwit::graph
