// compare: the same questions in every way, with their times.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "cli/questions.hpp"
#include "command_line/columns.hpp"
#include "fleet/walks.hpp"

namespace godwit::graph::cli {
namespace {

struct CompareOptions {
  std::string file;
  FleetOptions fleet{.name = "compare"};
  std::uint32_t nodes = 4;
  LocalTransport transport = LocalTransport::tcp;
  std::uint32_t rounds = 5;
};

Ended compare_ways(Fleet& fleet, const Graph& graph, const CompareOptions& options) {
  const Stopwatch loading;
  GODWIT_TRY(FleetGraph where, load_into(fleet, graph, options.fleet.name));
  fmt::print("{} triples on {} nodes in {:.2f} s, {:.1f} bytes per edge\n",
             grouped(graph.triples()), where.nodes().size(), loading.seconds(),
             static_cast<double>(where.memory_bytes()) / static_cast<double>(graph.triples()));
  const auto ask_all = [&]() -> Ended {
    GODWIT_TRY(Walker walker, Walker::create(where));
    GODWIT_TRY(const auto questions, all_questions(where, walker, graph));
    godwit::cli::Columns table({"question", "multi-hop", ">edges", ">reference ms", ">travel ms",
                                ">pull ms", ">pull/travel", ">travel M edges/s"});
    for (const Question& question : questions) {
      GODWIT_TRY(const double reference,
                 best_time(question.reference, options.rounds, question.name));
      GODWIT_TRY(const double travel,
                 best_time(question.travel, options.rounds, question.name + " by travel"));
      GODWIT_TRY(const double pull,
                 best_time(question.pull, options.rounds, question.name + " by pull"));
      table.add({question.name, question.multi_hop ? "yes" : "", grouped(question.edges),
                 fmt::format("{:.3f}", reference * 1e3), fmt::format("{:.3f}", travel * 1e3),
                 fmt::format("{:.3f}", pull * 1e3), fmt::format("{:.1f}", pull / travel),
                 fmt::format("{:.2f}", static_cast<double>(question.edges) / travel / 1e6)});
    }
    fmt::print("{}every answer is the reference's; times are the best of {}\n", table.text(),
               options.rounds);
    return {};
  };
  const Ended asked = ask_all();
  const Status dropped = where.drop();
  GODWIT_CHECK(asked);
  GODWIT_CHECK(dropped);
  return {};
}

Ended run(const CompareOptions& options) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  if (options.fleet.fleet.empty()) {
    GODWIT_TRY(Fleet fleet, Fleet::local(options.nodes, {.transport = options.transport}));
    return compare_ways(fleet, graph, options);
  }
  GODWIT_TRY(Fleet fleet, join_fleet(options.fleet));
  return compare_ways(fleet, graph, options);
}

}  // namespace

void add_compare(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "compare",
       .usage = "FILE [--nodes N] [--transport shm|tcp] [--rounds N] | FILE --fleet ADDRESS",
       .summary = "Ask a fleet by travelling code and by pulling data, and print both times",
       .examples = "graph compare u1.graph\n"
                   "graph compare r18.graph --nodes 8 --transport shm",
       .details = "Deals the graph out to a fleet, its own or the one at ADDRESS, asks what fits "
                  "it of q1 to q10,\nneighbourhoods and a breadth-first search from the vertex "
                  "with the most edges, connected\ncomponents and 10 iterations of PageRank, and "
                  "checks every answer."});
  const auto options = std::make_shared<CompareOptions>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("--nodes", options->nodes, "Start so many nodes here (4)")
      ->check(CLI::Range(1U, 64U));
  add_transport_option(command, options->transport);
  command.add_option("--rounds", options->rounds, "Ask so often, and take the best (5)")
      ->check(CLI::Range(1U, 1000U));
  add_fleet_options(command, options->fleet);
  command.callback(
      [&invocation, options] { invocation.command = [options] { return run(*options); }; });
}

}  // namespace godwit::graph::cli
