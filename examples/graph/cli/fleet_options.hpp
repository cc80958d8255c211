// The options of commands that work on a fleet.
#pragma once

#include <CLI/App.hpp>

#include <memory>
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

// --transport, of nodes that a command starts itself.
void add_transport_option(CLI::App& command, LocalTransport& transport);

// Where an answer comes from.
enum class How : std::uint8_t { reference, travel, pull };

struct AskOptions {
  How how = How::reference;
  FleetOptions fleet = {};
};
// --how, --fleet and --name.
void add_ask_options(CLI::App& command, AskOptions& options);

// A graph that was loaded into a fleet, and the connection to it.
struct AttachedGraph {
  std::unique_ptr<Fleet> fleet;
  FleetGraph where;
};
[[nodiscard]] Outcome<AttachedGraph> attach_graph(const AskOptions& options, const Graph& graph);

[[nodiscard]] Result<Fleet> join_fleet(const FleetOptions& options);
// The mobile code, graph_code.gdw, from beside this program.
[[nodiscard]] Result<Bundle> open_code();
// With a progress bar.
[[nodiscard]] Result<FleetGraph> load_into(Fleet& fleet, const Graph& graph,
                                           const std::string& name);

}  // namespace godwit::graph::cli
