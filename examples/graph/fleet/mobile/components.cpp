// Connected components: every vertex tells its neighbours the smallest vertex it knows of, as long
// as that is news to anybody.
#include <vector>

#include "fleet/mobile/local_graph.hpp"

namespace godwit::graph {
namespace {

// A word for each vertex: the round that changed it above, the smallest vertex below.
using Words = WritableRegion<std::uint64_t>;

bool lower(const Words& words, const Offer& offer, std::uint32_t round) {
  const std::atomic_ref<std::uint64_t> word = words.atomic(offer.vertex);
  std::uint64_t before = word.load(std::memory_order_relaxed);
  while (offer.smallest < static_cast<TermId>(before)) {
    const std::uint64_t after = static_cast<std::uint64_t>(round) << 32U | offer.smallest;
    if (word.compare_exchange_weak(before, after, std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace

// Every vertex of this node that has an edge is a component of its own, news of round 1.
void begin_components(Here& here, WalkRef walk) {
  const Words words = here.writable_region<std::uint64_t>(walk.marks);
  const LocalEdges out(here, walk.graph.out_ranges, walk.graph.out_edges);
  const LocalEdges in(here, walk.graph.in_ranges, walk.graph.in_edges);
  for (std::uint64_t i = 0; i < words.local().size(); ++i) {
    const TermId vertex = out.own_vertex(i);
    const bool alone = out.of(vertex, walk.label).empty() && in.of(vertex, walk.label).empty();
    words.put(vertex, alone ? kNoTerm : std::uint64_t{1} << 32U | vertex);
  }
}
GODWIT_EXPORT(begin_components);

// Returns how many of the offers were news.
std::uint64_t take_offers(Here& here, WalkRef walk, std::uint32_t round,
                          std::span<const Offer> offers) {
  const Words words = here.writable_region<std::uint64_t>(walk.marks);
  std::uint64_t news = 0;
  for (const Offer& offer : offers) {
    if (words.owns(offer.vertex) && lower(words, offer, round)) ++news;
  }
  return news;
}
GODWIT_EXPORT(take_offers);

// Passes on what round `round` changed here.
LevelDone spread_components(Here& here, WalkRef walk, std::uint32_t round) {
  const Words words = here.writable_region<std::uint64_t>(walk.marks);
  const std::uint32_t shards = words.map().abi().shards;
  std::vector<TermId> best(words.size(), kNoTerm);  // offered to each vertex elsewhere
  LevelDone done;
  const auto offer = [&](std::span<const Edge> edges, TermId smallest) {
    done.edges += edges.size();
    for (const Edge edge : edges) {
      const TermId target = target_of(edge);
      if (!words.owns(target)) {
        best[target] = std::min(best[target], smallest);
      } else if (lower(words, {target, smallest}, round + 1)) {
        ++done.found;
      }
    }
  };
  const LocalEdges out(here, walk.graph.out_ranges, walk.graph.out_edges);
  const LocalEdges in(here, walk.graph.in_ranges, walk.graph.in_edges);
  for (std::uint64_t i = 0; i < words.local().size(); ++i) {
    const TermId vertex = out.own_vertex(i);
    const std::uint64_t word = words[vertex];
    if (word >> 32U != round) continue;
    offer(out.of(vertex, walk.label), static_cast<TermId>(word));
    offer(in.of(vertex, walk.label), static_cast<TermId>(word));
  }
  std::vector<std::vector<Offer>> elsewhere(shards);
  for (TermId vertex = 0; vertex < best.size(); ++vertex) {
    if (best[vertex] != kNoTerm) elsewhere[vertex % shards].push_back({vertex, best[vertex]});
  }
  std::vector<Pending<std::uint64_t>> calls;
  for (const std::vector<Offer>& offers : elsewhere) {
    if (offers.empty()) continue;
    calls.push_back(
        here.call<take_offers>(words.owner(offers.front().vertex), walk, round + 1, offers));
  }
  for (Pending<std::uint64_t>& call : calls) done.found += call.get();
  return done;
}
GODWIT_EXPORT(spread_components);

// The smallest vertex of its component for each vertex of this node, in the order of offsets.
std::vector<TermId> components_here(Here& here, WalkRef walk) {
  std::vector<TermId> found;
  for (const std::uint64_t word : here.region<std::uint64_t>(walk.marks).local()) {
    found.push_back(static_cast<TermId>(word));
  }
  return found;
}
GODWIT_EXPORT(components_here);

}  // namespace godwit::graph
