#include "fleet/walks.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/fail.hpp"
#include "fleet/failure.hpp"
#include "fleet/pulled_edges.hpp"

namespace godwit::graph {
namespace {

// From here on a node has edges enough to follow that a worker should.
constexpr std::size_t kManyVertices = 8192;

constexpr std::string_view kTheWalk = "the walk";

// What a node answers when it is asked for neighbours; one of the two forms is empty.
struct Expanded {
  std::uint64_t edges = 0;
  std::span<const TermId> list;
  std::span<const TermId> bits;
};

Result<Expanded> read_expanded(std::span<const TermId> words, std::uint64_t vertices) {
  const bool has_head = words.size() >= kExpandedHead;
  const bool is_list = has_head && words[2] == kExpandedList;
  if (!is_list && words.size() != kExpandedHead + words_of_bits(vertices)) {
    return fail(ErrorCode::bad_format, "the walk: {} words are no answer", words.size());
  }
  Expanded read{.edges = words[0] | std::uint64_t{words[1]} << 32U, .list = {}, .bits = {}};
  (is_list ? read.list : read.bits) = words.subspan(kExpandedHead);
  return read;
}

void add_bits(std::vector<TermId>& sum, std::span<const TermId> bits) {
  if (sum.size() < bits.size()) sum.resize(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) sum[i] |= bits[i];
}

template <class Use>
void for_each_bit(std::span<const TermId> bits, Use&& use) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    for (TermId left = bits[i]; left != 0; left &= left - 1) {
      use(static_cast<TermId>(i * 32 + static_cast<std::size_t>(std::countr_zero(left))));
    }
  }
}

// Calls use(vertex, distance) for vertices that stand level by level.
template <class Use>
void for_each_reached(std::span<const std::uint64_t> levels, std::span<const TermId> vertices,
                      Use&& use) {
  for (std::uint32_t distance = 0; distance < levels.size(); ++distance) {
    const auto level = vertices.first(std::min<std::size_t>(levels[distance], vertices.size()));
    for (const TermId vertex : level) use(vertex, distance);
    vertices = vertices.subspan(level.size());
  }
}

void set_distances(BreadthFirst& walk, std::span<const TermId> vertices) {
  for_each_reached(walk.levels, vertices, [&](TermId vertex, std::uint32_t distance) {
    walk.distances.at(vertex) = distance;
  });
}

}  // namespace

Result<Walker> Walker::create(const FleetGraph& where, std::uint64_t max_relayed) {
  GODWIT_TRY(auto marks,
             Scratch<std::uint64_t>::create(where, "marks", where.vertices(), Sharding::cyclic()));
  return Walker(where, std::move(marks), max_relayed);
}

Result<BreadthFirst> Walker::breadth_first(TermId start, const Walk& walk, std::uint32_t max_hops) {
  const WalkRef ref{.graph = where_->ref(),
                    .marks = marks_.id(),
                    .run = ++run_,
                    .label = walk.label,
                    .follow_out = walk.direction != Direction::in ? 1U : 0U,
                    .follow_in = walk.direction != Direction::out ? 1U : 0U};
  GODWIT_TRY(SoFar so_far, wander(ref, start, max_hops));
  BreadthFirst& result = so_far.walk;
  if (!so_far.is_over) GODWIT_CHECK(relay(ref, max_hops, so_far));
  result.reached = so_far.vertices.size();
  if (so_far.is_over) return std::move(result);
  GODWIT_TRY(const auto advance,
             where_->code().function<LevelDone(WalkRef, std::uint32_t)>("advance"));
  GODWIT_CHECK(hand_over(ref, so_far));
  while (result.levels.size() <= max_hops) {
    const auto distance = static_cast<std::uint32_t>(result.levels.size() - 1);
    GODWIT_TRY(const auto parts, ask_all(*where_, advance, ref, distance));
    std::uint64_t found = 0;
    for (const LevelDone& part : parts) {
      found += part.found;
      result.edges += part.edges;
    }
    if (found == 0) break;
    result.levels.push_back(found);
    result.reached += found;
  }
  GODWIT_CHECK(collect(ref, result));
  return std::move(result);
}

Result<Walker::SoFar> Walker::wander(const WalkRef& ref, TermId start,
                                     std::uint32_t max_hops) const {
  SoFar begun;
  begun.walk.distances.assign(where_->vertices(), kUnreached);
  const std::vector<std::uint32_t> levels{1};
  const std::vector<TermId> reached{start};
  if (max_hops == 0) {
    begun.walk.distances.at(start) = 0;
    begun.walk.levels = {1};
    begun.vertices = reached;
    begun.is_over = true;
    return begun;
  }
  using Wander = std::vector<TermId>(WalkRef, Wanderer, std::span<const std::uint32_t>,
                                     std::span<const TermId>);
  GODWIT_TRY(const auto wander, where_->code().function<Wander>("wander"));
  const std::size_t shard = where_->shard_of(start);
  const Wanderer state{.max_hops = max_hops, .began = static_cast<std::uint32_t>(shard)};
  const auto answer = wander.on(where_->nodes()[shard])(ref, state, levels, reached).get();
  if (!answer) return failed(kTheWalk, answer.error());
  const std::span<const TermId> words = *answer;
  const std::size_t count = words.size() < kWanderedHead ? 0 : words[3];
  if (count == 0 || words.size() < kWanderedHead + count) {
    return fail(ErrorCode::bad_format, "the walk: {} words are no answer", words.size());
  }
  begun.is_over = words[0] != 0;
  begun.walk.edges = words[1] | std::uint64_t{words[2]} << 32U;
  begun.walk.levels.assign(words.begin() + kWanderedHead, words.begin() + kWanderedHead + count);
  begun.vertices.assign(words.begin() + kWanderedHead + count, words.end());
  set_distances(begun.walk, begun.vertices);
  return begun;
}

Status Walker::relay(const WalkRef& ref, std::uint32_t max_hops, SoFar& so_far) const {
  std::vector<std::uint64_t>& levels = so_far.walk.levels;
  while (!so_far.is_over && levels.back() * where_->nodes().size() <= max_relayed_) {
    GODWIT_TRY(const std::uint64_t found, relay_level(ref, so_far));
    if (found > 0) levels.push_back(found);
    so_far.is_over = found == 0 || levels.size() > max_hops;
  }
  return {};
}

// Returns how many vertices are one step behind the last level.
Result<std::uint64_t> Walker::relay_level(const WalkRef& ref, SoFar& so_far) const {
  using Expand = std::vector<TermId>(WalkRef, std::span<const TermId>);
  GODWIT_TRY(const auto expand, where_->code().function<Expand>("expand"));
  GODWIT_TRY(const auto expand_many, where_->code().function<Expand>("expand_many"));
  BreadthFirst& walk = so_far.walk;
  const std::size_t before = so_far.vertices.size();
  std::vector<std::vector<TermId>> frontier(where_->nodes().size());
  for (const TermId vertex : std::span(so_far.vertices).last(walk.levels.back())) {
    frontier[where_->shard_of(vertex)].push_back(vertex);
  }
  std::vector<Future<std::vector<TermId>>> calls;
  for (std::size_t shard = 0; shard < frontier.size(); ++shard) {
    if (frontier[shard].empty()) continue;
    const auto& fitting = frontier[shard].size() > kManyVertices ? expand_many : expand;
    calls.push_back(fitting.on(where_->nodes()[shard])(ref, frontier[shard]));
  }
  const auto reach = [&](TermId vertex) {
    std::uint32_t& distance = walk.distances.at(vertex);
    if (distance != kUnreached) return;
    distance = static_cast<std::uint32_t>(walk.levels.size());
    so_far.vertices.push_back(vertex);
  };
  std::vector<TermId> bits;  // of all nodes that answer so
  for (auto& call : calls) {
    const auto answer = call.get();
    if (!answer) return failed(kTheWalk, answer.error());
    GODWIT_TRY(const Expanded found, read_expanded(*answer, where_->vertices()));
    walk.edges += found.edges;
    for (const TermId vertex : found.list) reach(vertex);
    add_bits(bits, found.bits);
  }
  for_each_bit(bits, reach);
  return so_far.vertices.size() - before;
}

// The nodes learn what was reached before any of them goes on.
Status Walker::hand_over(const WalkRef& ref, const SoFar& so_far) const {
  GODWIT_TRY(const auto seed,
             where_->code().function<void(WalkRef, std::span<const Reached>)>("seed"));
  std::vector<std::vector<Reached>> known(where_->nodes().size());
  for_each_reached(so_far.walk.levels, so_far.vertices, [&](TermId vertex, std::uint32_t distance) {
    known[where_->shard_of(vertex)].push_back({vertex, distance});
  });
  std::vector<Future<void>> calls;
  for (std::size_t shard = 0; shard < known.size(); ++shard) {
    if (!known[shard].empty()) calls.push_back(seed.on(where_->nodes()[shard])(ref, known[shard]));
  }
  for (auto& call : calls) {
    if (const auto seeded = call.get(); !seeded) return failed(kTheWalk, seeded.error());
  }
  return {};
}

Status Walker::collect(const WalkRef& ref, BreadthFirst& result) const {
  const Bundle& code = where_->code();
  const std::size_t shards = where_->nodes().size();
  if (result.levels.size() <= kMaxByteLevels) {
    GODWIT_TRY(const auto distances,
               code.function<std::vector<std::uint8_t>(WalkRef)>("distances_here"));
    GODWIT_TRY(const auto parts, ask_all(*where_, distances, ref));
    for (std::size_t shard = 0; shard < shards; ++shard) {
      for (std::size_t i = 0; i < parts[shard].size(); ++i) {
        if (parts[shard][i] != 0) result.distances.at(i * shards + shard) = parts[shard][i] - 1U;
      }
    }
    return {};
  }
  GODWIT_TRY(const auto reached, code.function<std::vector<Reached>(WalkRef)>("reached"));
  GODWIT_TRY(const auto parts, ask_all(*where_, reached, ref));
  for (const std::vector<Reached>& part : parts) {
    for (const Reached& one : part) result.distances.at(one.vertex) = one.distance;
  }
  return {};
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
