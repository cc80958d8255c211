// A walk that carries what it has reached: one call goes from owner to owner, level by level, and
// whoever finds nothing more answers. For walks of a few thousand vertices.
#include <stdexcept>
#include <utility>
#include <vector>

#include "fleet/mobile/local_graph.hpp"
#include "fleet/mobile/vertex_set.hpp"

namespace godwit::graph {
namespace {

// Beyond either a walk is better off at many nodes at the same time; and this one runs on the
// polling thread, where others wait: about 0.2 ms.
constexpr std::size_t kMaxCarried = 8192;
constexpr std::size_t kMaxAnswered = 4 * kMaxCarried;
constexpr std::uint64_t kMaxEdges = 16'384;
// Edges of a level that several nodes follow faster than one call that goes around.
constexpr std::uint64_t kWorthParting = 4'096;

using Vertices = std::vector<TermId>;
using Levels = std::vector<std::uint32_t>;

class WanderStay {
 public:
  WanderStay(Here& here, const WalkRef& walk, const Wanderer& begun,
             std::span<const std::uint32_t> sizes, std::span<const TermId> known)
      : state(begun),
        levels(sizes.begin(), sizes.end()),
        reached(known.begin(), known.end()),
        walk_(walk),
        out_(here, walk.graph.out_ranges, walk.graph.out_edges),
        in_(here, walk.graph.in_ranges, walk.graph.in_edges),
        seen_(known.size() + kMaxCarried / 4) {
    for (const std::uint32_t size : levels) complete_ += size;
    if (levels.empty() || levels.back() > complete_ || complete_ > reached.size()) {
      throw std::invalid_argument("half a walk");
    }
    for (const TermId vertex : reached) {
      if (vertex >= out_.vertices()) throw std::invalid_argument("a vertex beyond the graph");
      seen_.insert(vertex);
    }
  }

  Wanderer state;
  Levels levels;     // sizes of complete ones
  Vertices reached;  // level by level, and then what was found of the next
  bool is_over = false;

  // Takes the walk as far as it goes here, and says at which shard it goes on: at this one, if it
  // is over or too large to go on like this. Then it is as at the beginning of the level.
  std::uint32_t advance() {
    while (true) {
      const std::uint32_t next = look_at_level();
      if (!expand()) {
        reached.resize(complete_);
        return out_.shard();
      }
      if (next != out_.shard()) return next;
      end_level();
      if (is_over) return out_.shard();
    }
  }
  [[nodiscard]] std::uint32_t shard() const { return out_.shard(); }
  [[nodiscard]] Node home(std::uint32_t shard) const { return out_.home(shard); }

  [[nodiscard]] Vertices answer() const {
    Vertices all{is_over ? 1U : 0U, static_cast<TermId>(state.edges),
                 static_cast<TermId>(state.edges >> 32U), static_cast<TermId>(levels.size())};
    all.insert(all.end(), levels.begin(), levels.end());
    all.insert(all.end(), reached.begin(), reached.end());
    return all;
  }

 private:
  // Finds this node's vertices of the level; returns the shard whose turn is next, in the ring from
  // where the level began, or this one if it is the last.
  std::uint32_t look_at_level() {
    const std::uint32_t shards = out_.shards();
    std::vector<bool> present(shards);
    own_.clear();
    for (const TermId vertex :
         std::span(reached).subspan(complete_ - levels.back(), levels.back())) {
      const std::uint32_t its = out_.shard_of(vertex);
      present[its] = true;
      if (its == out_.shard()) own_.push_back(vertex);
    }
    const std::uint32_t turn = (out_.shard() + shards - state.began) % shards;
    for (std::uint32_t later = turn + 1; later < shards; ++later) {
      const std::uint32_t shard = (state.began + later) % shards;
      if (present[shard]) return shard;
    }
    return out_.shard();
  }

  // Follows the edges of this node's vertices, unless there are too many.
  bool expand() {
    std::uint64_t edges = 0;
    for (const TermId vertex : own_) {
      if (walk_.follow_out != 0) edges += out_.of(vertex).size();
      if (walk_.follow_in != 0) edges += in_.of(vertex).size();
    }
    if (edges > kMaxEdges || is_worth_parting(edges)) return false;
    const auto follow = [&](const LocalEdges& from, TermId vertex) {
      const auto followed = from.of(vertex, walk_.label);
      state.edges_of_level += followed.size();
      for (const Edge edge : followed) {
        if (seen_.insert(target_of(edge))) reached.push_back(target_of(edge));
      }
    };
    for (const TermId vertex : own_) {
      if (walk_.follow_out != 0) follow(out_, vertex);
      if (walk_.follow_in != 0) follow(in_, vertex);
    }
    // What the last level found is not looked at again.
    return reached.size() <= (levels.size() == state.max_hops ? kMaxAnswered : kMaxCarried);
  }

  // Vertices are dealt out in turn: others will have about as many edges as this node.
  [[nodiscard]] bool is_worth_parting(std::uint64_t edges) const {
    return out_.shards() > 1 && edges * out_.shards() > kWorthParting;
  }

  void end_level() {
    state.edges += std::exchange(state.edges_of_level, 0);
    state.began = out_.shard();
    const std::size_t found = reached.size() - complete_;
    if (found > 0) levels.push_back(static_cast<std::uint32_t>(found));
    complete_ = reached.size();
    is_over = found == 0 || levels.size() > state.max_hops;
  }

  WalkRef walk_;
  LocalEdges out_;
  LocalEdges in_;
  VertexSet seen_;
  std::size_t complete_ = 0;  // vertices of complete levels
  Vertices own_;              // this node's of the last of them
};

}  // namespace

Next<Vertices> wander(Here& here, WalkRef walk, Wanderer state,
                      std::span<const std::uint32_t> levels, std::span<const TermId> reached) {
  WanderStay stay(here, walk, state, levels, reached);
  const std::uint32_t next = stay.advance();
  if (next == stay.shard()) return stay.answer();
  return here.continue_at<wander>(stay.home(next), walk, stay.state, stay.levels, stay.reached);
}
GODWIT_EXPORT(wander, inline_);

}  // namespace godwit::graph
