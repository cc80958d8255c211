// The options of commands that work on a fleet.
#pragma once

#include <CLI/App.hpp>

#include <string>

#include "cli/exit.hpp"
#include "fleet/fleet_graph.hpp"

namespace godwit::graph::cli {

struct FleetOptions {
  std::string fleet = {};      // an address; empty: none
  std::string name = "graph";  // of the graph there
};
// --fleet and --name.
void add_fleet_options(CLI::App& command, FleetOptions& options);

[[nodiscard]] Result<Fleet> join_fleet(const FleetOptions& options);
// The mobile code, graph_code.gdw, from beside this program.
[[nodiscard]] Result<Bundle> open_code();
// With a progress bar.
[[nodiscard]] Result<FleetGraph> load_into(Fleet& fleet, const Graph& graph,
                                           const std::string& name);

}  // namespace godwit::graph::cli
