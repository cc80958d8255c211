#include "godwit/ops/graph.hpp"

#include <algorithm>
#include <iterator>

#include "base/fail.hpp"
#include "godwit/mobile/std.hpp"
#include "ops/attachment.hpp"
#include "ops/decide.hpp"

namespace godwit::ops {
namespace {

using Words = Region<std::uint64_t>;
using Vertices = std::vector<std::uint64_t>;

// How the rows are dealt out: `per_shard` vertices, with one offset more, to each shard in turn.
struct Deal {
  std::uint64_t vertices = 0;
  std::uint64_t per_shard = 0;

  [[nodiscard]] std::uint64_t offsets() const {
    const std::uint64_t last = (vertices - 1) / per_shard;
    return last * (per_shard + 1) + (vertices - last * per_shard) + 1;
  }
  [[nodiscard]] std::uint64_t row(std::uint64_t vertex) const {
    return vertex / per_shard * (per_shard + 1) + vertex % per_shard;
  }
};

Deal deal_of(const Words& offsets) {
  const Attachment& region = offsets.handle().attachment();
  const std::uint64_t chunk = region.map().abi().chunk;
  const std::uint64_t last = (region.elements() - 1) / chunk;
  return {last * (chunk - 1) + (region.elements() - 1) % chunk, chunk - 1};
}

Status check_rows(std::string_view name, Graph::Numbers offsets, Graph::Numbers targets) {
  const auto bad = [&](const std::string& why) {
    return fail(ErrorCode::invalid_argument, "graph '{}': {}", name, why);
  };
  if (offsets.size() < 2) return bad("it has no vertex");
  if (offsets.front() != 0 || offsets.back() != targets.size() ||
      !std::ranges::is_sorted(offsets)) {
    return bad(fmt::format("its offsets must ascend from 0 to {}", targets.size()));
  }
  const auto beyond =
      std::ranges::find_if(targets, [&](auto target) { return target >= offsets.size() - 1; });
  if (beyond == targets.end()) return {};
  return bad(fmt::format("edge {} leads to vertex {} of {}", beyond - targets.begin(), *beyond,
                         offsets.size() - 1));
}

Outcome<Vertices> vertices_of(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  return detail::outcome_of<Vertices>(std::move(call));
}

// Both are made; what they are to hold goes into them.
Outcome<void> fill(const Deal& deal, Graph::Numbers offsets, Graph::Numbers targets,
                   const Words& to_offsets, const Words& to_targets) {
  const std::uint64_t room = to_targets.handle().attachment().map().abi().chunk;
  for (std::uint64_t first = 0; first < deal.vertices; first += deal.per_shard) {
    const std::uint64_t end = std::min(first + deal.per_shard, deal.vertices);
    Vertices own(offsets.begin() + static_cast<std::ptrdiff_t>(first),
                 offsets.begin() + static_cast<std::ptrdiff_t>(end + 1));
    for (std::uint64_t& offset : own) offset -= offsets[first];
    auto stored = to_offsets.store(deal.row(first), own);
    const std::uint64_t edges = offsets[end] - offsets[first];
    if (stored && edges > 0) {
      stored =
          to_targets.store(first / deal.per_shard * room, targets.subspan(offsets[first], edges));
    }
    if (!stored) return stored;
  }
  return {};
}

// --- By the calling thread ----------------------------------------------------------------------

Failure k_hop_failure(const Words& offsets, ErrorCode reason, const std::string& why) {
  return {Ending::rejected, reason, false,
          fmt::format("k_hop in region '{}': {}", offsets.handle().attachment().name(), why)};
}

void sort_unique(Vertices& vertices) {
  std::ranges::sort(vertices);
  const auto rest = std::ranges::unique(vertices);
  vertices.erase(rest.begin(), rest.end());
}

// All neighbours of a level's vertices, each once, in order: their offsets are gathered, and then
// what these lead to.
Outcome<Vertices> expand_here(const Words& offsets, const Words& targets, const Deal& deal,
                              const Vertices& level) {
  Vertices rows;
  rows.reserve(2 * level.size());
  for (const std::uint64_t vertex : level) {
    if (vertex >= deal.vertices) {
      return tl::unexpected(k_hop_failure(offsets, ErrorCode::invalid_argument,
                                          fmt::format("an edge leads to vertex {}", vertex)));
    }
    rows.push_back(deal.row(vertex));
    rows.push_back(deal.row(vertex) + 1);
  }
  const auto bounds = offsets.gather(rows).get();
  if (!bounds) return bounds;
  const std::uint64_t room = targets.handle().attachment().map().abi().chunk;
  Vertices edges;
  for (std::size_t i = 0; i < level.size(); ++i) {
    const std::uint64_t begin = (*bounds)[2 * i];
    const std::uint64_t end = (*bounds)[2 * i + 1];
    if (begin > end || end > room) {
      return tl::unexpected(k_hop_failure(
          offsets, ErrorCode::invalid_argument,
          fmt::format("vertex {} has edges {} to {} of {}", level[i], begin, end, room)));
    }
    const std::uint64_t base = level[i] / deal.per_shard * room;
    for (std::uint64_t edge = begin; edge < end; ++edge) edges.push_back(base + edge);
  }
  auto found = targets.gather(edges).get();
  if (found) sort_unique(*found);
  return found;
}

Outcome<Vertices> k_hop_here(const Words& offsets, const Words& targets, std::uint64_t from,
                             const HopLimits& limits) {
  const Deal deal = deal_of(offsets);
  Vertices reached{from};
  Vertices level{from};
  for (std::uint32_t hop = 0; hop < limits.hops && !level.empty(); ++hop) {
    const auto found = expand_here(offsets, targets, deal, level);
    if (!found) return found;
    level.clear();
    std::ranges::set_difference(*found, reached, std::back_inserter(level));
    if (reached.size() + level.size() > limits.at_most) {
      return tl::unexpected(k_hop_failure(
          offsets, ErrorCode::too_large,
          fmt::format("more than {} vertices lie within {} hops", limits.at_most, hop + 1)));
    }
    Vertices both;
    both.reserve(reached.size() + level.size());
    std::ranges::merge(reached, level, std::back_inserter(both));
    reached.swap(both);
  }
  return reached;
}

// Vertices that are likely to be reached, if all have as many targets.
std::uint64_t expected_reach(const Deal& deal, const Words& targets, std::uint32_t hops) {
  const double degree = static_cast<double>(targets.handle().attachment().elements()) /
                        static_cast<double>(deal.vertices);
  double level = 1;
  double reached = 1;
  for (std::uint32_t hop = 0; hop < hops && reached < static_cast<double>(deal.vertices); ++hop) {
    level *= degree;
    reached += level;
  }
  return std::min(deal.vertices, static_cast<std::uint64_t>(std::min(reached, 1e18)));
}

}  // namespace

Result<Graph> Graph::create(Fleet& fleet, std::string_view name, Numbers offsets, Numbers targets) {
  GODWIT_CHECK(check_rows(name, offsets, targets));
  const std::uint64_t shards = fleet.nodes().size();
  if (shards == 0) return fail(ErrorCode::unreachable, "graph '{}': no node is up", name);
  const std::uint64_t vertices = offsets.size() - 1;
  const Deal deal{vertices, (vertices + shards - 1) / shards};
  std::uint64_t room = 1;  // of each shard, for its edges
  for (std::uint64_t first = 0; first < vertices; first += deal.per_shard) {
    room = std::max(room, offsets[std::min(first + deal.per_shard, vertices)] - offsets[first]);
  }
  const std::vector<NodeHandle> nodes = fleet.nodes();
  if (nodes.size() != shards) return fail(ErrorCode::unreachable, "graph '{}': a node left", name);
  GODWIT_TRY(Words to_offsets, Words::create(fleet, fmt::format("{}.offsets", name),
                                             {.elements = deal.offsets(),
                                              .capacity = shards * (deal.per_shard + 1),
                                              .sharding = Sharding::cyclic(deal.per_shard + 1),
                                              .nodes = nodes}));
  auto to_targets = Words::create(
      fleet, fmt::format("{}.targets", name),
      {.elements = shards * room, .sharding = Sharding::cyclic(room), .nodes = nodes});
  if (!to_targets) {
    static_cast<void>(to_offsets.drop());
    return tl::unexpected(std::move(to_targets).error());
  }
  Graph graph(std::move(to_offsets), *std::move(to_targets));
  if (const auto filled = fill(deal, offsets, targets, graph.offsets_, graph.targets_); !filled) {
    static_cast<void>(graph.drop());
    return fail(filled.error().reason, "graph '{}': {}", name, filled.error().message);
  }
  return graph;
}

Result<Graph> Graph::attach(Fleet& fleet, std::string_view name) {
  GODWIT_TRY(Words offsets, Words::attach(fleet, fmt::format("{}.offsets", name)));
  GODWIT_TRY(Words targets, Words::attach(fleet, fmt::format("{}.targets", name)));
  if (offsets.handle().attachment().map().abi().chunk < 2) {
    return fail(ErrorCode::bad_format, "region '{}.offsets' does not hold a graph's rows", name);
  }
  return Graph(std::move(offsets), std::move(targets));
}

std::uint64_t Graph::vertices() const {
  return deal_of(offsets_).vertices;
}

Future<Vertices> Graph::k_hop(std::uint64_t from, const HopLimits& limits, Mechanism asked) const {
  const Attachment& region = offsets_.handle().attachment();
  const Deal deal = deal_of(offsets_);
  if (from >= deal.vertices) {
    return detail::known<Vertices>(tl::unexpected(
        Failure{Ending::rejected, ErrorCode::invalid_argument, false,
                fmt::format("k_hop from vertex {} in region '{}': there are {} vertices", from,
                            region.name(), deal.vertices)}));
  }
  const bool mapped = region.is_all_mapped() && targets_.handle().attachment().is_all_mapped();
  if (asked == Mechanism::direct && !mapped) {
    return detail::known<Vertices>(tl::unexpected(not_mapped(region, "k_hop")));
  }
  const Work work{.operation = Operation::k_hop,
                  .amount = expected_reach(deal, targets_, limits.hops),
                  .hops = limits.hops};
  if (decide(offsets_.handle(), work, asked) != Mechanism::code) {
    const Reach reach =
        asked == Mechanism::automatic ? offsets_.handle().reach() : reach_for(asked);
    return detail::known(
        k_hop_here(offsets_.through(reach), targets_.through(reach), from, limits));
  }
  const std::uint64_t row = deal.row(from);
  const Note note = region.note("k_hop", row, 1, region.map().locate(row).shard);
  return {region.call(Op::k_hop, note, region.id(), targets_.handle().id(), from, limits.hops,
                      limits.at_most),
          &vertices_of};
}

Status Graph::drop() {
  const Status first = offsets_.drop();
  const Status second = targets_.drop();
  return first ? second : first;
}

}  // namespace godwit::ops
