#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "algorithms/components.hpp"
#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "fleet/whole_graph.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

struct ComponentsOptions {
  std::string file;
  std::string predicate;
  AskOptions ask;
};

struct TimedComponents {
  Components found;
  double seconds = 0;
};
Outcome<TimedComponents> find(const ComponentsOptions& options, const Graph& graph, TermId label) {
  if (options.ask.how == How::reference) {
    const Stopwatch watch;
    Components found = connected_components(graph, label);
    return TimedComponents{std::move(found), watch.seconds()};
  }
  GODWIT_TRY(const AttachedGraph attached, attach_graph(options.ask, graph));
  const auto ask = options.ask.how == How::travel ? components_by_travel : components_by_pull;
  const Stopwatch watch;
  GODWIT_TRY(Components found, ask(attached.where, label));
  return TimedComponents{std::move(found), watch.seconds()};
}

Ended run(const ComponentsOptions& options, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  GODWIT_TRY(const TermId label, find_predicate(graph, options.predicate));
  GODWIT_TRY(const TimedComponents timed, find(options, graph, label));
  const auto& [found, seconds] = timed;
  if (json) {
    trace::Json out;
    out.open('{').field("vertices", found.vertices).field("components", found.components);
    out.field("largest", found.largest);
    if (found.edges > 0) out.field("edges", found.edges);
    out.key("seconds").raw(fmt::format("{:.6f}", seconds)).close('}');
    fmt::print("{}\n", out.text());
    return {};
  }
  fmt::print("{} components of {} vertices; the largest has {}\n", grouped(found.components),
             grouped(found.vertices), grouped(found.largest));
  if (found.edges == 0) {  // the fleet's nodes do not count them
    fmt::print("{:.3f} ms\n", seconds * 1e3);
  } else {
    fmt::print("{} edges, {:.3f} ms, {:.1f} M edges/s\n", grouped(found.edges), seconds * 1e3,
               static_cast<double>(found.edges) / seconds / 1e6);
  }
  return {};
}

}  // namespace

void add_components(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "components",
             .usage = "FILE [--predicate P] [--how reference|travel|pull --fleet ADDRESS] [--json]",
             .summary = "Count connected components; edges count in both directions",
             .examples = "graph components r18.graph\n"
                         "graph components u1.graph --predicate ub:cites"});
  const auto options = std::make_shared<ComponentsOptions>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("--predicate", options->predicate, "Only edges with this label count");
  add_ask_options(command, options->ask);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return run(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
