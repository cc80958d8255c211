// The part of a graph that lies on the node where the code runs.
#pragma once

#include <godwit/mobile.hpp>
#include <godwit/mobile/refuse.hpp>
#include <godwit/mobile/region.hpp>
#include <godwit/mobile/std.hpp>

#include <algorithm>
#include <limits>
#include <span>

#include "fleet/shapes.hpp"

namespace godwit::graph {

// One direction. Valid until the exported function returns.
class LocalEdges {
 public:
  LocalEdges(Here& here, std::uint64_t ranges, std::uint64_t edges)
      : ranges_(here.region<EdgeRange>(ranges)), edges_(here.region<Edge>(edges)) {
    const auto mine = edges_.local();
    local_ = mine.data();
    first_ = mine.empty() ? 0 : edges_.index_of(0);
  }

  [[nodiscard]] bool owns(TermId vertex) const noexcept { return ranges_.owns(vertex); }
  [[nodiscard]] std::uint32_t shard() const noexcept { return ranges_.shard(); }
  [[nodiscard]] std::uint32_t shard_of(TermId vertex) const noexcept { return vertex % shards(); }
  [[nodiscard]] Node owner(TermId vertex) const noexcept { return ranges_.owner(vertex); }
  // Throws if the shard has none any more.
  [[nodiscard]] Node home(std::uint32_t shard) const {
    const Node node = ranges_.home(shard);
    if (!node) {
      ops::refuse(ops::kNodeLost, "shard %u of the graph is lost; load the graph again", shard);
    }
    return node;
  }
  [[nodiscard]] std::uint32_t shards() const noexcept { return ranges_.map().abi().shards; }
  [[nodiscard]] std::uint64_t vertices() const noexcept { return ranges_.size(); }
  [[nodiscard]] std::uint64_t own_vertices() const noexcept { return ranges_.local().size(); }
  [[nodiscard]] TermId own_vertex(std::uint64_t number) const noexcept {
    return static_cast<TermId>(ranges_.index_of(number));
  }

  // This node must own the vertex. Any label, or one of it: costs two binary searches.
  [[nodiscard]] std::span<const Edge> of(TermId vertex, TermId label = kNoTerm) const noexcept {
    const EdgeRange range = ranges_[vertex];
    const std::span<const Edge> all{local_ + (range.first - first_), range.count};
    if (label == kNoTerm) return all;
    const auto begin = std::lower_bound(all.begin(), all.end(), make_edge(label, 0));
    return {begin, std::upper_bound(begin, all.end(), make_edge(label, kNoTerm))};
  }

 private:
  RegionView<EdgeRange> ranges_;
  RegionView<Edge> edges_;
  const Edge* local_ = nullptr;
  std::uint64_t first_ = 0;  // the index of local_[0]
};

// The values of terms; NaN for those that have none. Every node has all of them.
class LocalNumbers {
 public:
  LocalNumbers(Here& here, std::uint64_t region) : view_(here.region<NumberEntry>(region)) {}
  [[nodiscard]] double of(TermId term) const noexcept {
    const auto all = view_.local();
    const auto found = std::ranges::lower_bound(all, term, {}, &NumberEntry::term);
    return found != all.end() && found->term == term ? found->value
                                                     : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  RegionView<NumberEntry> view_;
};

}  // namespace godwit::graph
