// PageRank in beats. In each a node makes new ranks of what has arrived, adds up what its vertices
// send to those of every other one, and delivers the sums. Those of one beat and of the next lie in
// rows of their own, as some nodes are ahead of others.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "fleet/mobile/local_graph.hpp"

namespace godwit::graph {
namespace {

// Sums in one message: taken on the polling thread, about 30 us.
constexpr std::size_t kSumsPerCall = 32'768;

// What has arrived at this node from a shard in a beat: a sum for each of its vertices.
std::span<double> row_of(const WritableRegion<double>& inbox, std::uint32_t beat,
                         std::uint32_t from) {
  const std::span<double> all = inbox.local();
  const std::size_t shards = inbox.map().abi().shards;
  const std::size_t width = all.size() / (2 * shards);
  if (from >= shards) throw std::invalid_argument("sums from a shard that does not exist");
  return all.subspan((beat % 2 * shards + from) * width, width);
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

void take_sums(Here& here, RankRef ref, std::uint32_t beat, std::uint32_t from, std::uint64_t first,
               std::span<const double> sums) {
  const auto inbox = here.writable_region<double>(ref.inbox);
  const std::span<double> row = row_of(inbox, beat, from);
  if (first > row.size() || sums.size() > row.size() - first) {
    throw std::invalid_argument("sums for another graph");
  }
  std::ranges::copy(sums, row.subspan(first).begin());
}
GODWIT_EXPORT(take_sums, inline_);

namespace {

// Returns by how much ranks changed, in sum.
double settle(const WritableRegion<double>& ranks, const WritableRegion<double>& inbox,
              const RankBeat& now) {
  const std::span<double> mine = ranks.local();
  std::vector<double> received(mine.size());
  for (std::uint32_t from = 0; from < inbox.map().abi().shards; ++from) {
    const std::span<const double> row = row_of(inbox, now.beat - 1, from);
    for (std::size_t i = 0; i < mine.size(); ++i) received[i] += row[i];
  }
  double moved = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == 0) continue;
    const double rank = now.base + now.damping * received[i];
    moved += std::abs(rank - mine[i]);
    mine[i] = rank;
  }
  return moved;
}

}  // namespace

RankDone rank_beat(Here& here, RankRef ref, RankBeat now) {
  const auto ranks = here.writable_region<double>(ref.ranks);
  const auto inbox = here.writable_region<double>(ref.inbox);
  RankDone done;
  if (now.beat > 0) done.moved = settle(ranks, inbox, now);
  if (now.is_last != 0) return done;
  const LocalEdges out(here, ref.graph.out_ranges, ref.graph.out_edges);
  const std::uint32_t shards = out.shards();
  const std::size_t width = row_of(inbox, now.beat, 0).size();
  std::vector<std::vector<double>> sums(shards, std::vector<double>(width));
  for (std::uint64_t i = 0; i < out.own_vertices(); ++i) {
    const TermId vertex = out.own_vertex(i);
    const auto edges = out.of(vertex, ref.label);
    if (edges.empty()) done.stranded += ranks[vertex];
    const double sent = ranks[vertex] / static_cast<double>(edges.size());
    for (const Edge edge : edges) {
      sums[target_of(edge) % shards][target_of(edge) / shards] += sent;
    }
  }
  std::vector<Pending<void>> calls;
  for (std::uint32_t to = 0; to < shards && to < out.vertices(); ++to) {
    if (to == out.shard()) {
      std::ranges::copy(sums[to], row_of(inbox, now.beat, to).begin());
      continue;
    }
    for (std::size_t at = 0; at < width; at += kSumsPerCall) {
      const auto part = std::span<const double>(sums[to]).subspan(at);
      calls.push_back(here.call<take_sums>(out.home(to), ref, now.beat, out.shard(),
                                           std::uint64_t{at},
                                           part.first(std::min(part.size(), kSumsPerCall))));
    }
  }
  join(std::span(calls));
  return done;
}
GODWIT_EXPORT(rank_beat);

std::vector<double> ranks_here(Here& here, RankRef ref) {
  const auto mine = here.region<double>(ref.ranks).local();
  return {mine.begin(), mine.end()};
}
GODWIT_EXPORT(ranks_here);

}  // namespace godwit::graph
