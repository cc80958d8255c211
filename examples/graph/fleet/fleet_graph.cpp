#include "fleet/fleet_graph.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fail.hpp"

namespace godwit::graph {
namespace {

// Elements of one store: large enough to be quick, small enough to watch.
constexpr std::uint64_t kStoreElements = std::uint64_t{1} << 16U;

// Writes arrays and says how far it is.
class Writing {
 public:
  Writing(const LoadOptions& options, std::uint64_t total) : options_(options), total_(total) {}

  template <class T>
  Status write(const Region<T>& region, std::uint64_t first, std::span<const T> values) {
    while (!values.empty()) {
      const auto part = values.first(std::min<std::size_t>(values.size(), kStoreElements));
      const auto stored = region.store(first, part);
      if (!stored) {
        return fail(stored.error().reason, "loading the graph: {}", to_string(stored.error()));
      }
      first += part.size();
      values = values.subspan(part.size());
      done_ += part.size();
      if (options_.progress) options_.progress(done_, total_);
    }
    return {};
  }

 private:
  const LoadOptions& options_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

// One direction as it will lie in the regions.
struct Dealt {
  std::vector<EdgeRange> ranges;
  std::vector<std::vector<Edge>> blocks;  // for each shard
  std::uint64_t block = 1;                // elements of the largest one
};

Dealt deal(AdjacencyView adjacency, std::size_t shards) {
  Dealt dealt;
  dealt.ranges.resize(std::max<std::uint32_t>(adjacency.vertices(), 1));
  dealt.blocks.resize(shards);
  for (TermId vertex = 0; vertex < adjacency.vertices(); ++vertex) {
    std::vector<Edge>& block = dealt.blocks[vertex % shards];
    const auto edges = adjacency.edges_of(vertex);
    dealt.ranges[vertex] = {block.size(), edges.size()};
    block.insert(block.end(), edges.begin(), edges.end());
    dealt.block = std::max<std::uint64_t>(dealt.block, block.size());
  }
  for (TermId vertex = 0; vertex < adjacency.vertices(); ++vertex) {
    dealt.ranges[vertex].first += vertex % shards * dealt.block;
  }
  return dealt;
}

Result<EdgeRegions> create(Fleet& fleet, const std::string& prefix, const Dealt& dealt) {
  GODWIT_TRY(auto ranges, Region<EdgeRange>::create(
                              fleet, prefix + ".ranges",
                              {.elements = dealt.ranges.size(), .sharding = Sharding::cyclic()}));
  auto edges = Region<Edge>::create(fleet, prefix + ".edges",
                                    {.elements = dealt.block * dealt.blocks.size()});
  if (!edges) {
    static_cast<void>(ranges.drop());
    return tl::unexpected(edges.error());
  }
  return EdgeRegions{std::move(ranges), *std::move(edges)};
}

Status drop_both(EdgeRegions& regions) {
  const Status ranges = regions.ranges.drop();
  const Status edges = regions.edges.drop();
  return ranges ? edges : ranges;
}

Status write(Writing& writing, const EdgeRegions& regions, const Dealt& dealt) {
  GODWIT_CHECK(writing.write<EdgeRange>(regions.ranges, 0, dealt.ranges));
  for (std::size_t shard = 0; shard < dealt.blocks.size(); ++shard) {
    GODWIT_CHECK(writing.write<Edge>(regions.edges, shard * dealt.block, dealt.blocks[shard]));
  }
  return {};
}

// By term; never empty.
std::vector<NumberEntry> numbers_of(const Graph& graph) {
  std::vector<NumberEntry> entries;
  for (TermId term = 0; term < graph.terms(); ++term) {
    const double value = graph.numbers()[term];
    if (!std::isnan(value)) entries.push_back({.term = term, .value = value});
  }
  if (entries.empty()) entries.emplace_back();
  return entries;
}

Result<EdgeRegions> attach_direction(Fleet& fleet, const std::string& prefix) {
  GODWIT_TRY(auto ranges, Region<EdgeRange>::attach(fleet, prefix + ".ranges"));
  GODWIT_TRY(auto edges, Region<Edge>::attach(fleet, prefix + ".edges"));
  return EdgeRegions{std::move(ranges), std::move(edges)};
}

}  // namespace

FleetGraph::FleetGraph(Fleet& fleet, Bundle code, std::string name, EdgeRegions out, EdgeRegions in,
                       Region<NumberEntry> numbers)
    : fleet_(&fleet),
      code_(std::move(code)),
      name_(std::move(name)),
      out_(std::move(out)),
      in_(std::move(in)),
      numbers_(std::move(numbers)),
      ref_{.out_ranges = out_.ranges.at(0).region,
           .out_edges = out_.edges.at(0).region,
           .in_ranges = in_.ranges.at(0).region,
           .in_edges = in_.edges.at(0).region,
           .numbers = numbers_.at(0).region} {}

Result<FleetGraph> FleetGraph::load(Fleet& fleet, Bundle code, const Graph& graph,
                                    const LoadOptions& options) {
  const std::size_t shards = fleet.nodes().size();
  if (shards == 0) return fail(ErrorCode::unreachable, "loading the graph: no node is up");
  const Dealt out_dealt = deal(graph.out(), shards);
  const Dealt in_dealt = deal(graph.in(), shards);
  const std::vector<NumberEntry> entries = numbers_of(graph);

  GODWIT_TRY(EdgeRegions out, create(fleet, options.name + ".out", out_dealt));
  auto in = create(fleet, options.name + ".in", in_dealt);
  if (!in) {
    static_cast<void>(drop_both(out));
    return tl::unexpected(in.error());
  }
  auto numbers = Region<NumberEntry>::create(fleet, options.name + ".numbers",
                                             {.elements = entries.size() * shards});
  if (!numbers) {
    static_cast<void>(drop_both(out));
    static_cast<void>(drop_both(*in));
    return tl::unexpected(numbers.error());
  }
  FleetGraph made(fleet, std::move(code), options.name, std::move(out), *std::move(in),
                  *std::move(numbers));
  const std::uint64_t total = 2 * (graph.triples() + graph.terms()) + entries.size() * shards;
  Writing writing(options, total);
  const auto fill = [&]() -> Status {
    GODWIT_CHECK(made.find_nodes());
    GODWIT_CHECK(write(writing, made.out_, out_dealt));
    GODWIT_CHECK(write(writing, made.in_, in_dealt));
    for (std::size_t shard = 0; shard < shards; ++shard) {
      GODWIT_CHECK(writing.write<NumberEntry>(made.numbers_, shard * entries.size(), entries));
    }
    return {};
  };
  if (const Status filled = fill(); !filled) {
    static_cast<void>(made.drop());
    return tl::unexpected(filled.error());
  }
  return made;
}

Result<FleetGraph> FleetGraph::attach(Fleet& fleet, Bundle code, const Graph& graph,
                                      std::string_view name) {
  const std::string prefix(name);
  GODWIT_TRY(EdgeRegions out, attach_direction(fleet, prefix + ".out"));
  GODWIT_TRY(EdgeRegions in, attach_direction(fleet, prefix + ".in"));
  GODWIT_TRY(auto numbers, Region<NumberEntry>::attach(fleet, prefix + ".numbers"));
  FleetGraph made(fleet, std::move(code), prefix, std::move(out), std::move(in),
                  std::move(numbers));
  if (made.vertices() != std::max<std::uint64_t>(graph.terms(), 1)) {
    return fail(ErrorCode::invalid_argument,
                "the fleet's graph '{}' has {} terms and the file {}: load the file first, or name "
                "the one that was loaded",
                name, made.vertices(), graph.terms());
  }
  GODWIT_CHECK(made.find_nodes());
  return made;
}

Status FleetGraph::find_nodes() {
  const std::vector<NodeHandle> up = fleet_->nodes();
  nodes_.clear();
  for (const ShardDescription& shard : out_.ranges.describe().shards) {
    const auto found = std::ranges::find(up, shard.node, &NodeHandle::id);
    if (shard.lost || found == up.end()) {
      return fail(ErrorCode::node_lost,
                  "shard {} of the graph '{}' is lost with its node; load the graph again",
                  shard.shard, name_);
    }
    nodes_.push_back(*found);
  }
  return {};
}

Status FleetGraph::drop() {
  const Status dropped[] = {drop_both(out_), drop_both(in_), numbers_.drop()};
  for (const Status& status : dropped) GODWIT_CHECK(status);
  return {};
}

std::uint64_t FleetGraph::memory_bytes() const {
  return (out_.ranges.size() + in_.ranges.size()) * sizeof(EdgeRange) +
         (out_.edges.size() + in_.edges.size()) * sizeof(Edge) +
         numbers_.size() * sizeof(NumberEntry);
}

}  // namespace godwit::graph
