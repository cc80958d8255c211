// A graph in the regions of a fleet: who has which vertex, and how to get at the arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/graph.hpp"
#include "fleet/shapes.hpp"
#include "godwit/godwit.hpp"

namespace godwit::graph {

// The regions of one direction.
struct EdgeRegions {
  Region<EdgeRange> ranges;
  Region<Edge> edges;
};

struct LoadOptions {
  std::string name = "graph";  // the regions are NAME.out.ranges and so on
  // Called with how many elements of how many have been written.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

// A handle; the fleet outlives it, and the regions live on without it. One thread.
class FleetGraph {
 public:
  // Deals the graph out to all nodes that are up. Errors: those of Region::create and of stores;
  // what was made before an error is dropped.
  static Result<FleetGraph> load(Fleet& fleet, Bundle code, const Graph& graph,
                                 const LoadOptions& options = {});
  // A graph that was loaded before. Errors: not_found; invalid_argument if it is not this graph.
  static Result<FleetGraph> attach(Fleet& fleet, Bundle code, const Graph& graph,
                                   std::string_view name = "graph");
  // Ends the regions.
  Status drop();

  [[nodiscard]] const GraphRef& ref() const noexcept { return ref_; }
  [[nodiscard]] const EdgeRegions& out() const noexcept { return out_; }
  [[nodiscard]] const EdgeRegions& in() const noexcept { return in_; }
  [[nodiscard]] const Bundle& code() const noexcept { return code_; }
  [[nodiscard]] Fleet& fleet() const noexcept { return *fleet_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // In the order of shards.
  [[nodiscard]] const std::vector<NodeHandle>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::size_t shard_of(TermId vertex) const noexcept {
    return vertex % nodes_.size();
  }
  [[nodiscard]] std::uint64_t vertices() const { return out_.ranges.size(); }
  // Of all regions, together.
  [[nodiscard]] std::uint64_t memory_bytes() const;

 private:
  FleetGraph(Fleet& fleet, Bundle code, std::string name, EdgeRegions out, EdgeRegions in,
             Region<NumberEntry> numbers);
  Status find_nodes();

  Fleet* fleet_;
  Bundle code_;
  std::string name_;
  EdgeRegions out_;
  EdgeRegions in_;
  Region<NumberEntry> numbers_;
  GraphRef ref_;
  std::vector<NodeHandle> nodes_;
};

}  // namespace godwit::graph
