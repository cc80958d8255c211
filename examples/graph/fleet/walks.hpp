// Breadth-first walks over a graph in a fleet, in two ways; both give what breadth_first() gives
// (algorithms/traversal.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/traversal.hpp"
#include "fleet/fleet_graph.hpp"
#include "fleet/scratch.hpp"

namespace godwit::graph {

// Walks of travelling code. A call carries what it has reached from owner to owner as long as that
// is little. Then the nodes go on level by level: first they give their neighbours to this client,
// then, when levels are large, to each other, and note in a region of 8 bytes a vertex what has
// been reached. The graph outlives it. One thread, one walk at a time.
class Walker {
 public:
  // Neighbours come by the client as long as a level has no more than `max_relayed` vertices, each
  // counted once for each node, as each node may name it: two messages a node, where neighbours
  // that go from node to node take as many for each pair of them.
  static Result<Walker> create(const FleetGraph& where, std::uint64_t max_relayed = 2'000'000);
  Result<BreadthFirst> breadth_first(TermId start, const Walk& walk,
                                     std::uint32_t max_hops = kUnreached);

 private:
  Walker(const FleetGraph& where, Scratch<std::uint64_t> marks, std::uint64_t max_relayed)
      : where_(&where), marks_(std::move(marks)), max_relayed_(max_relayed) {}
  struct SoFar {
    BreadthFirst walk;
    std::vector<TermId> vertices;  // level by level
    bool is_over = false;
  };
  Result<SoFar> wander(const WalkRef& ref, TermId start, std::uint32_t max_hops) const;
  Status relay(const WalkRef& ref, std::uint32_t max_hops, SoFar& so_far) const;
  Result<std::uint64_t> relay_level(const WalkRef& ref, SoFar& so_far) const;
  Status hand_over(const WalkRef& ref, const SoFar& so_far) const;
  Status collect(const WalkRef& ref, BreadthFirst& result) const;

  const FleetGraph* where_;
  Scratch<std::uint64_t> marks_;
  std::uint64_t max_relayed_;
  std::uint32_t run_ = 0;
};

Result<BreadthFirst> breadth_first_by_pull(const FleetGraph& where, TermId start, const Walk& walk,
                                           std::uint32_t max_hops = kUnreached);

// The vertices of a walk in the order of k_hop().
[[nodiscard]] std::vector<TermId> vertices_of(const BreadthFirst& walk);

}  // namespace godwit::graph
