#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "data/image.hpp"

namespace godwit::graph::cli {
namespace {

struct LoadCommand {
  std::string from;
  std::string to;
  FleetOptions fleet;
};

Ended load(const LoadCommand& options) {
  if (options.to.empty() == options.fleet.fleet.empty()) {
    return failed(Exit::usage, "either -o FILE.graph or --fleet ADDRESS is needed");
  }
  const Stopwatch watch;
  GODWIT_TRY(const Graph graph, open_graph(options.from));
  if (!options.to.empty()) {
    GODWIT_CHECK(write_image(graph, options.to));
    fmt::print("{}: {} triples, {} terms, {:.1f} s\n", options.to, grouped(graph.triples()),
               grouped(graph.terms()), watch.seconds());
    return {};
  }
  GODWIT_TRY(Fleet fleet, join_fleet(options.fleet));
  GODWIT_TRY(const FleetGraph where, load_into(fleet, graph, options.fleet.name));
  fmt::print("{}: {} triples, {} terms on {} nodes, {} bytes, {:.1f} s\n", options.fleet.name,
             grouped(graph.triples()), grouped(graph.terms()), where.nodes().size(),
             grouped(where.memory_bytes()), watch.seconds());
  return {};
}

}  // namespace

void add_load(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "load",
       .usage = "FILE -o FILE.graph | FILE --fleet ADDRESS [--name NAME]",
       .summary = "Read a graph and write it as an image, which opens faster, or into a fleet",
       .examples = "graph load people.nt -o people.graph\n"
                   "zcat people.nt.gz | graph load - -o people.graph\n"
                   "graph load people.graph --fleet local",
       .details = "Strict: the first line that is not N-Triples ends it, with line and column. "
                  "Triples\nthat come twice count once. Without the command, the others read "
                  ".nt files too. In a\nfleet the graph lies in regions of its nodes, as long as "
                  "they live."});
  const auto options = std::make_shared<LoadCommand>();
  command.add_option("FILE", options->from, "N-Triples or an image; - for standard input")
      ->required();
  command.add_option("-o,--output", options->to, "The image");
  add_fleet_options(command, options->fleet);
  command.callback(
      [&invocation, options] { invocation.command = [options] { return load(*options); }; });
}

}  // namespace godwit::graph::cli
