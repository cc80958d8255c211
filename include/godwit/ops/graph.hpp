// Graphs in compressed sparse rows, dealt out to nodes by vertex, and what lies around a vertex.
//
//   auto graph = godwit::ops::Graph::create(fleet, "roads", offsets, targets).value();
//   auto around = graph.k_hop(7, {.hops = 2}).get();         // Outcome<vector<uint64_t>>
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/mechanism.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

struct HopLimits {
  std::uint32_t hops = 1;
  std::uint64_t at_most = std::uint64_t{1} << 20;  // vertices; more is too_large
};

// Cheap to copy; any thread. The fleet outlives it. It does not own its regions, which live until
// drop() or as long as their nodes.
class GODWIT_API Graph {
 public:
  using Numbers = std::span<const std::uint64_t>;

  // The targets of vertex v are those from offsets[v] to before offsets[v + 1]. Makes the regions
  // NAME.offsets and NAME.targets on all nodes, as many vertices on each, a vertex's targets with
  // it. Errors: invalid_argument (no rows, or a target that is no vertex), and those of
  // Region::create() and store().
  [[nodiscard]] static Result<Graph> create(Fleet& fleet, std::string_view name, Numbers offsets,
                                            Numbers targets);
  // Errors: as those of Region::attach().
  [[nodiscard]] static Result<Graph> attach(Fleet& fleet, std::string_view name);

  [[nodiscard]] std::uint64_t vertices() const;

  // All vertices that so many hops or fewer lead to, `from` included, in order. The work is done by
  // a function at the home of `from`, which asks the homes of each level's vertices at the same
  // time; `direct` and `get` gather each level here, and are over when this returns. Failures: as
  // those of Region; too_large, naming the limit.
  [[nodiscard]] Future<std::vector<std::uint64_t>> k_hop(
      std::uint64_t from, const HopLimits& limits,
      Mechanism mechanism = Mechanism::automatic) const;
  Status drop();

 private:
  Graph(Region<std::uint64_t> offsets, Region<std::uint64_t> targets)
      : offsets_(std::move(offsets)), targets_(std::move(targets)) {}

  Region<std::uint64_t> offsets_;
  Region<std::uint64_t> targets_;
};

}  // namespace godwit::ops
