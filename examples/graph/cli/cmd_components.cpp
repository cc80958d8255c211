#include <fmt/format.h>

#include <memory>
#include <string>

#include "algorithms/components.hpp"
#include "base/fail.hpp"
#include "cli/command.hpp"
#include "cli/open_graph.hpp"
#include "cli/text_table.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

struct ComponentsOptions {
  std::string file;
  std::string predicate;
};

Ended run(const ComponentsOptions& options, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  GODWIT_TRY(const TermId label, find_predicate(graph, options.predicate));
  const Stopwatch watch;
  const Components found = connected_components(graph, label);
  const double seconds = watch.seconds();
  if (json) {
    trace::Json out;
    out.open('{').field("vertices", found.vertices).field("components", found.components);
    out.field("largest", found.largest).field("edges", found.edges);
    out.key("seconds").raw(fmt::format("{:.6f}", seconds)).close('}');
    fmt::print("{}\n", out.text());
    return {};
  }
  fmt::print("{} components of {} vertices; the largest has {}\n", grouped(found.components),
             grouped(found.vertices), grouped(found.largest));
  fmt::print("{} edges, {:.3f} ms, {:.1f} M edges/s\n", grouped(found.edges), seconds * 1e3,
             static_cast<double>(found.edges) / seconds / 1e6);
  return {};
}

}  // namespace

void add_components(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "components",
                         .usage = "FILE [--predicate P] [--json]",
                         .summary = "Count connected components; edges count in both directions",
                         .examples = "graph components r18.graph\n"
                                     "graph components u1.graph --predicate ub:cites"});
  const auto options = std::make_shared<ComponentsOptions>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("--predicate", options->predicate, "Only edges with this label count");
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return run(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
