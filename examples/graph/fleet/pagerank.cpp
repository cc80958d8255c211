#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fail.hpp"
#include "fleet/pulled_edges.hpp"
#include "fleet/scratch.hpp"
#include "fleet/whole_graph.hpp"

namespace godwit::graph {
namespace {

template <class T>
T sum(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), T{});
}

// Calls use(vertex, edges) with each vertex's edges that have the label.
template <class Use>
Status for_each_vertex(const FleetGraph& where, const EdgeRegions& from, TermId label, Use&& use) {
  std::vector<TermId> part;
  for (std::uint64_t at = 0; at < where.vertices(); at += kPullVertices) {
    part.resize(std::min<std::uint64_t>(kPullVertices, where.vertices() - at));
    std::iota(part.begin(), part.end(), static_cast<TermId>(at));
    GODWIT_TRY(const PulledEdges pulled, pull_edges(from, part));
    for (std::size_t i = 0; i < part.size(); ++i) use(part[i], with_label(pulled.of(i), label));
  }
  return {};
}

}  // namespace

Result<PageRank> page_rank_by_travel(const FleetGraph& where, const PageRankOptions& options) {
  using Scratchpad = Scratch<double>;
  const Bundle& code = where.code();
  GODWIT_TRY(const auto begin, code.function<std::uint64_t(RankRef, double)>("begin_ranks"));
  GODWIT_TRY(const auto beat, code.function<RankDone(RankRef, RankBeat)>("rank_beat"));
  GODWIT_TRY(const auto ranks_here, code.function<std::vector<double>(RankRef)>("ranks_here"));
  const std::uint64_t shards = where.nodes().size();
  const std::uint64_t width = (where.vertices() + shards - 1) / shards;
  GODWIT_TRY(const Scratchpad ranks,
             Scratchpad::create(where, "ranks", where.vertices(), Sharding::cyclic()));
  GODWIT_TRY(const Scratchpad inbox,
             Scratchpad::create(where, "inbox", 2 * shards * shards * width, Sharding::blocks()));
  const RankRef ref{where.ref(), ranks.id(), inbox.id(), options.label};

  PageRank result;
  result.ranks.assign(where.vertices(), 0);
  GODWIT_TRY(const auto members, ask_all(where, begin, ref, 1.0));
  result.vertices = sum(members);
  if (result.vertices == 0) return result;
  const double share = 1.0 / static_cast<double>(result.vertices);
  GODWIT_CHECK(ask_all(where, begin, ref, share));
  RankBeat now{.damping = options.damping};
  now.is_last = options.max_iterations == 0 ? 1 : 0;
  GODWIT_TRY(std::vector<RankDone> done, ask_all(where, beat, ref, now));
  while (now.is_last == 0) {
    double stranded = 0;
    for (const RankDone& part : done) stranded += part.stranded;
    now.base = (1 - options.damping + options.damping * stranded) * share;
    ++now.beat;
    now.is_last = now.beat == options.max_iterations ? 1 : 0;
    GODWIT_TRY(done, ask_all(where, beat, ref, now));
    result.moved = 0;
    for (const RankDone& part : done) result.moved += part.moved;
    ++result.iterations;
    if (result.moved < options.tolerance) break;
  }
  GODWIT_TRY(const auto parts, ask_all(where, ranks_here, ref));
  for (std::size_t vertex = 0; vertex < result.ranks.size(); ++vertex) {
    result.ranks[vertex] = parts[vertex % shards].at(vertex / shards);
  }
  return result;
}

Result<PageRank> page_rank_by_pull(const FleetGraph& where, const PageRankOptions& options) {
  PageRank result;
  std::vector<double> degrees(where.vertices(), 0);
  std::vector<bool> member(where.vertices());
  GODWIT_CHECK(for_each_vertex(where, where.out(), options.label, [&](TermId vertex, auto edges) {
    degrees[vertex] = static_cast<double>(edges.size());
    if (!edges.empty()) member[vertex] = true;
    for (const Edge edge : edges) member[target_of(edge)] = true;
  }));
  result.vertices = static_cast<std::uint64_t>(std::ranges::count(member, true));
  result.ranks.assign(where.vertices(), 0);
  if (result.vertices == 0) return result;
  const double share = 1.0 / static_cast<double>(result.vertices);
  for (std::size_t v = 0; v < member.size(); ++v) result.ranks[v] = member[v] ? share : 0;
  std::vector<double> sent(where.vertices(), 0);
  while (result.iterations < options.max_iterations) {
    double stranded = 0;
    for (std::size_t v = 0; v < sent.size(); ++v) {
      if (degrees[v] > 0) sent[v] = result.ranks[v] / degrees[v];
      if (degrees[v] == 0) stranded += result.ranks[v];
    }
    const double base = (1 - options.damping + options.damping * stranded) * share;
    result.moved = 0;
    GODWIT_CHECK(for_each_vertex(where, where.in(), options.label, [&](TermId vertex, auto edges) {
      if (!member[vertex]) return;
      double received = 0;
      for (const Edge edge : edges) received += sent[target_of(edge)];
      result.edges += edges.size();
      const double rank = base + options.damping * received;
      result.moved += std::abs(rank - result.ranks[vertex]);
      result.ranks[vertex] = rank;
    }));
    ++result.iterations;
    if (result.moved < options.tolerance) break;
  }
  return result;
}

}  // namespace godwit::graph
