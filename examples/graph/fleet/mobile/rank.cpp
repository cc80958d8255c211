// PageRank in two beats. Spread: each node adds up what its vertices send to those of every other
// one, and delivers the sums. Settle: each node makes new ranks of what has arrived.
#include <cmath>
#include <stdexcept>
#include <vector>

#include "fleet/mobile/local_graph.hpp"

namespace godwit::graph {
namespace {

// What has arrived at this node: a row of sums from each shard, one for each of its vertices.
std::span<double> row_of(const WritableRegion<double>& inbox, std::uint32_t shards,
                         std::uint32_t from) {
  const std::span<double> all = inbox.local();
  const std::size_t width = all.size() / shards;
  if (from >= shards) throw std::invalid_argument("sums from a shard that does not exist");
  return all.subspan(from * width, width);
}

}  // namespace

// Gives every vertex that has an edge this rank, and the others none; returns how many have one.
std::uint64_t begin_ranks(Here& here, RankRef ref, double rank) {
  const auto ranks = here.writable_region<double>(ref.ranks);
  const LocalEdges out(here, ref.graph.out_ranges, ref.graph.out_edges);
  const LocalEdges in(here, ref.graph.in_ranges, ref.graph.in_edges);
  std::uint64_t members = 0;
  for (std::uint64_t i = 0; i < out.own_vertices(); ++i) {
    const TermId vertex = out.own_vertex(i);
    const bool alone = out.of(vertex, ref.label).empty() && in.of(vertex, ref.label).empty();
    ranks.put(vertex, alone ? 0 : rank);
    members += alone ? 0 : 1;
  }
  return members;
}
GODWIT_EXPORT(begin_ranks);

void take_sums(Here& here, RankRef ref, std::uint32_t from, std::span<const double> sums) {
  const auto inbox = here.writable_region<double>(ref.inbox);
  const std::span<double> row = row_of(inbox, inbox.map().abi().shards, from);
  if (sums.size() != row.size()) throw std::invalid_argument("sums for another graph");
  std::ranges::copy(sums, row.begin());
}
GODWIT_EXPORT(take_sums);

// Returns the rank of vertices that have nowhere to send it.
double spread_ranks(Here& here, RankRef ref, std::uint32_t shard) {
  const auto ranks = here.region<double>(ref.ranks);
  const auto inbox = here.writable_region<double>(ref.inbox);
  const LocalEdges out(here, ref.graph.out_ranges, ref.graph.out_edges);
  const std::uint32_t shards = out.shards();
  const std::size_t width = row_of(inbox, shards, 0).size();
  std::vector<std::vector<double>> sums(shards, std::vector<double>(width));
  double stranded = 0;
  for (std::uint64_t i = 0; i < out.own_vertices(); ++i) {
    const TermId vertex = out.own_vertex(i);
    const auto edges = out.of(vertex, ref.label);
    if (edges.empty()) stranded += ranks[vertex];
    const double sent = ranks[vertex] / static_cast<double>(edges.size());
    for (const Edge edge : edges) {
      sums[target_of(edge) % shards][target_of(edge) / shards] += sent;
    }
  }
  std::vector<Pending<void>> calls;
  for (std::uint32_t to = 0; to < shards && to < out.vertices(); ++to) {
    if (out.owns(to)) {
      std::ranges::copy(sums[to], row_of(inbox, shards, shard).begin());
    } else {
      calls.push_back(here.call<take_sums>(out.owner(to), ref, shard, sums[to]));
    }
  }
  join(std::span(calls));
  return stranded;
}
GODWIT_EXPORT(spread_ranks);

// Returns by how much ranks changed, in sum.
double settle_ranks(Here& here, RankRef ref, double base, double damping) {
  const auto ranks = here.writable_region<double>(ref.ranks);
  const auto inbox = here.writable_region<double>(ref.inbox);
  const std::uint32_t shards = inbox.map().abi().shards;
  double moved = 0;
  const std::span<double> mine = ranks.local();
  for (std::uint64_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == 0) continue;
    double received = 0;
    for (std::uint32_t from = 0; from < shards; ++from) received += row_of(inbox, shards, from)[i];
    const double rank = base + damping * received;
    moved += std::abs(rank - mine[i]);
    mine[i] = rank;
  }
  return moved;
}
GODWIT_EXPORT(settle_ranks);

std::vector<double> ranks_here(Here& here, RankRef ref) {
  const auto mine = here.region<double>(ref.ranks).local();
  return {mine.begin(), mine.end()};
}
GODWIT_EXPORT(ranks_here);

}  // namespace godwit::graph
