#include "cli/fleet_options.hpp"

#include <filesystem>
#include <utility>

#include "base/fail.hpp"
#include "cli/progress_bar.hpp"

namespace godwit::graph::cli {

void add_fleet_options(CLI::App& command, FleetOptions& options) {
  command.add_option("--fleet", options.fleet,
                     "A node of the fleet: tcp:HOST:PORT, shm:PATH, or local (`godwit up`)");
  command.add_option("--name", options.name, "What the graph is called there (graph)");
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
