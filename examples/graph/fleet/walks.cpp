#include "fleet/walks.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "fleet/pulled_edges.hpp"

namespace godwit::graph {
namespace {

// Vertices whose edges are pulled at a time.
constexpr std::size_t kPullVertices = 65'536;

tl::unexpected<Error> failed(const Failure& failure) {
  return fail(failure.reason, "the walk: {}", to_string(failure));
}

}  // namespace

Result<Walker> Walker::create(const FleetGraph& where) {
  GODWIT_TRY(auto marks,
             Scratch<std::uint64_t>::create(where, "marks", where.vertices(), Sharding::cyclic()));
  return Walker(where, std::move(marks));
}

Result<BreadthFirst> Walker::breadth_first(TermId start, const Walk& walk, std::uint32_t max_hops) {
  const Bundle& code = where_->code();
  GODWIT_TRY(
      const auto visit,
      code.function<std::uint64_t(WalkRef, std::uint32_t, std::span<const TermId>)>("visit"));
  GODWIT_TRY(const auto advance, code.function<LevelDone(WalkRef, std::uint32_t)>("advance"));
  const WalkRef ref{.graph = where_->ref(),
                    .marks = marks_.id(),
                    .run = ++run_,
                    .label = walk.label,
                    .follow_out = walk.direction != Direction::in ? 1U : 0U,
                    .follow_in = walk.direction != Direction::out ? 1U : 0U};
  const std::vector<TermId> begin{start};
  const auto begun = visit.on(where_->nodes()[where_->shard_of(start)])(ref, 0U, begin).get();
  if (!begun) return failed(begun.error());
  BreadthFirst result;
  for (std::uint64_t frontier = 1; frontier > 0;) {
    const auto distance = static_cast<std::uint32_t>(result.levels.size());
    result.levels.push_back(frontier);
    result.reached += frontier;
    if (distance == max_hops) break;
    GODWIT_TRY(const auto parts, ask_all(*where_, advance, ref, distance));
    frontier = 0;
    for (const LevelDone& part : parts) {
      frontier += part.found;
      result.edges += part.edges;
    }
  }
  return collect(ref, std::move(result));
}

Result<BreadthFirst> Walker::collect(const WalkRef& ref, BreadthFirst result) const {
  GODWIT_TRY(const auto reached, where_->code().function<std::vector<Reached>(WalkRef)>("reached"));
  GODWIT_TRY(const auto parts, ask_all(*where_, reached, ref));
  result.distances.assign(where_->vertices(), kUnreached);
  for (const std::vector<Reached>& part : parts) {
    for (const Reached& one : part) result.distances.at(one.vertex) = one.distance;
  }
  return result;
}

Result<BreadthFirst> breadth_first_by_pull(const FleetGraph& where, TermId start, const Walk& walk,
                                           std::uint32_t max_hops) {
  BreadthFirst result;
  result.distances.assign(where.vertices(), kUnreached);
  result.distances[start] = 0;
  std::vector<TermId> frontier{start};
  std::vector<TermId> next;
  const auto expand = [&](const EdgeRegions& from, std::span<const TermId> part) -> Status {
    GODWIT_TRY(const PulledEdges pulled, pull_edges(from, part));
    for (std::size_t i = 0; i < part.size(); ++i) {
      for (const Edge edge : with_label(pulled.of(i), walk.label)) {
        ++result.edges;
        std::uint32_t& distance = result.distances[target_of(edge)];
        if (distance != kUnreached) continue;
        distance = static_cast<std::uint32_t>(result.levels.size());
        next.push_back(target_of(edge));
      }
    }
    return {};
  };
  while (!frontier.empty()) {
    result.levels.push_back(frontier.size());
    result.reached += frontier.size();
    if (result.levels.size() > max_hops) break;
    next.clear();
    for (std::size_t at = 0; at < frontier.size(); at += kPullVertices) {
      const auto part =
          std::span(frontier).subspan(at, std::min(kPullVertices, frontier.size() - at));
      if (walk.direction != Direction::in) GODWIT_CHECK(expand(where.out(), part));
      if (walk.direction != Direction::out) GODWIT_CHECK(expand(where.in(), part));
    }
    std::swap(frontier, next);
  }
  return result;
}

std::vector<TermId> vertices_of(const BreadthFirst& walk) {
  std::vector<TermId> found;
  for (TermId vertex = 0; vertex < walk.distances.size(); ++vertex) {
    if (walk.distances[vertex] != kUnreached) found.push_back(vertex);
  }
  std::ranges::stable_sort(found, {}, [&](TermId vertex) { return walk.distances[vertex]; });
  return found;
}

}  // namespace godwit::graph
