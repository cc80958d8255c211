// scaling: what an edge costs, and how many are followed, as graphs and fleets grow.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "cli/questions.hpp"
#include "command_line/columns.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

struct ScalingOptions {
  std::vector<std::string> files;
  std::vector<std::uint32_t> nodes{1, 2, 4, 8};
  LocalTransport transport = LocalTransport::tcp;
  std::uint32_t rounds = 3;
};

// A question's edges a second, in millions.
struct Speed {
  std::string question;
  double reference = 0;
  double travel = 0;
  double pull = 0;
};

// One graph on one fleet.
struct Measured {
  std::string file;
  std::uint64_t triples = 0;
  std::uint32_t nodes = 0;
  double bytes_per_edge = 0;
  double load_s = 0;
  std::vector<Speed> speeds = {};
};

Result<Speed> measure(const Question& question, std::uint32_t rounds) {
  Speed speed{.question = question.name};
  const auto edges = static_cast<double>(question.edges);
  for (const auto& [ask, result] :
       {std::pair(&question.reference, &speed.reference),
        std::pair(&question.travel, &speed.travel), std::pair(&question.pull, &speed.pull)}) {
    GODWIT_TRY(const double seconds, best_time(*ask, rounds, question.name));
    *result = edges / seconds / 1e6;
  }
  return speed;
}

Result<Measured> measure(const ScalingOptions& options, const std::string& file, const Graph& graph,
                         std::uint32_t nodes) {
  GODWIT_TRY(Fleet fleet, Fleet::local(nodes, {.transport = options.transport}));
  const Stopwatch loading;
  GODWIT_TRY(FleetGraph where, load_into(fleet, graph, "scaling"));
  Measured measured{.file = file, .triples = graph.triples(), .nodes = nodes};
  measured.load_s = loading.seconds();
  measured.bytes_per_edge =
      static_cast<double>(where.memory_bytes()) / static_cast<double>(graph.triples());
  GODWIT_TRY(Walker walker, Walker::create(where));
  const Question questions[] = {ask_walk(where, walker, graph, busiest(graph), kUnreached),
                                ask_components(where, graph), ask_page_rank(where, graph)};
  for (const Question& question : questions) {
    GODWIT_TRY(Speed speed, measure(question, options.rounds));
    measured.speeds.push_back(std::move(speed));
  }
  return measured;
}

void print(const std::vector<Measured>& all) {
  std::vector<std::string> headings{"graph", ">triples", ">nodes", ">bytes/edge", ">load s"};
  for (const Speed& speed : all.front().speeds) {
    for (const char* way : {"here", "travel", "pull"}) {
      headings.push_back(fmt::format(">{} {}", speed.question, way));
    }
  }
  godwit::cli::Columns table(std::move(headings));
  for (const Measured& one : all) {
    std::vector<std::string> cells{one.file, grouped(one.triples), std::to_string(one.nodes),
                                   fmt::format("{:.1f}", one.bytes_per_edge),
                                   fmt::format("{:.2f}", one.load_s)};
    for (const Speed& speed : one.speeds) {
      for (const double value : {speed.reference, speed.travel, speed.pull}) {
        cells.push_back(fmt::format("{:.1f}", value));
      }
    }
    table.add(std::move(cells));
  }
  fmt::print("{}millions of edges in a second; every answer is the reference's\n", table.text());
}

void print_json(const std::vector<Measured>& all) {
  trace::Json out;
  out.open('[');
  for (const Measured& one : all) {
    out.open('{').field("graph", one.file).field("triples", one.triples).field("nodes", one.nodes);
    out.key("bytes_per_edge").raw(fmt::format("{:.3f}", one.bytes_per_edge));
    out.key("load_s").raw(fmt::format("{:.6f}", one.load_s)).key("edges_per_s").open('{');
    for (const Speed& speed : one.speeds) {
      out.key(speed.question).open('{');
      out.key("reference").raw(fmt::format("{:.0f}", speed.reference * 1e6));
      out.key("travel").raw(fmt::format("{:.0f}", speed.travel * 1e6));
      out.key("pull").raw(fmt::format("{:.0f}", speed.pull * 1e6)).close('}');
    }
    out.close('}').close('}');
  }
  fmt::print("{}\n", out.close(']').text());
}

Ended run(const ScalingOptions& options, bool json) {
  std::vector<Measured> all;
  for (const std::string& file : options.files) {
    GODWIT_TRY(const Graph graph, open_graph(file));
    if (graph.triples() == 0) return failed(Exit::usage, fmt::format("{} has no edges", file));
    for (const std::uint32_t nodes : options.nodes) {
      GODWIT_TRY(Measured measured, measure(options, file, graph, nodes));
      all.push_back(std::move(measured));
    }
  }
  json ? print_json(all) : print(all);
  return {};
}

}  // namespace

void add_scaling(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "scaling",
             .usage = "FILE... [--nodes N,N...] [--transport shm|tcp] [--rounds N] [--json]",
             .summary = "Measure memory per edge and edges per second as graphs and fleets grow",
             .examples = "graph scaling u1.graph u10.graph\n"
                         "graph scaling r18.graph --nodes 1,2,4,8 --json",
             .details = "Deals each graph out to fleets of each size, and has each search it "
                        "breadth first, find its\ncomponents and rank it, 10 iterations, here, by "
                        "travelling code and by pulling data."});
  const auto options = std::make_shared<ScalingOptions>();
  command.add_option("FILE", options->files, "The graphs: images or N-Triples")->required();
  command.add_option("--nodes", options->nodes, "Fleets of so many nodes (1,2,4,8)")
      ->delimiter(',')
      ->check(CLI::Range(1U, 64U));
  add_transport_option(command, options->transport);
  command.add_option("--rounds", options->rounds, "Ask so often, and take the best (3)")
      ->check(CLI::Range(1U, 1000U));
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return run(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
