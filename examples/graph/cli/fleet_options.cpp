#include "cli/fleet_options.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "base/fail.hpp"
#include "cli/progress_bar.hpp"

namespace godwit::graph::cli {

void add_fleet_options(CLI::App& command, FleetOptions& options) {
  command.add_option("--fleet", options.fleet,
                     "A node of the fleet: tcp:HOST:PORT, shm:PATH, or local (`godwit up`)");
  command.add_option("--name", options.name, "What the graph is called there (graph)");
}

void add_transport_option(CLI::App& command, LocalTransport& transport) {
  const std::map<std::string, LocalTransport> kTransports{{"shm", LocalTransport::shm},
                                                          {"tcp", LocalTransport::tcp}};
  command.add_option("--transport", transport, "Between them: shm or tcp (tcp)")
      ->transform(CLI::CheckedTransformer(kTransports).description(""));
}

void add_ask_options(CLI::App& command, AskOptions& options) {
  const std::map<std::string, How> kWays{
      {"reference", How::reference}, {"travel", How::travel}, {"pull", How::pull}};
  command
      .add_option("--how", options.how,
                  "reference: here; travel: code goes to the fleet's nodes; pull: their data comes "
                  "here (reference)")
      ->transform(CLI::CheckedTransformer(kWays).description(""));
  add_fleet_options(command, options.fleet);
}

Outcome<AttachedGraph> attach_graph(const AskOptions& options, const Graph& graph) {
  if (options.fleet.fleet.empty()) {
    return failed(Exit::usage, "--how travel and pull ask a fleet; name it with --fleet");
  }
  GODWIT_TRY(Fleet joined, join_fleet(options.fleet));
  auto fleet = std::make_unique<Fleet>(std::move(joined));
  GODWIT_TRY(Bundle code, open_code());
  GODWIT_TRY(FleetGraph where,
             FleetGraph::attach(*fleet, std::move(code), graph, options.fleet.name));
  return AttachedGraph{std::move(fleet), std::move(where)};
}

Result<Fleet> join_fleet(const FleetOptions& options) {
  return Fleet::join(options.fleet, {.name = "graph"});
}

Result<Bundle> open_code() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorCode::io, "cannot tell where this program lies: {}", error.message());
  return Bundle::open((program.parent_path() / "graph_code.gdw").string());
}

Result<FleetGraph> load_into(Fleet& fleet, const Graph& graph, const std::string& name) {
  GODWIT_TRY(Bundle code, open_code());
  ProgressBar bar("dealing out");
  const auto show = [&](std::uint64_t done, std::uint64_t total) {
    bar.show({.done = done, .total = total, .triples = graph.triples()});
  };
  return FleetGraph::load(fleet, std::move(code), graph, {.name = name, .progress = show});
}

}  // namespace godwit::graph::cli
