// khop and bfs: two ways to go outward from a vertex.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/traversal.hpp"
#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "command_line/columns.hpp"
#include "fleet/walks.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

constexpr std::uint32_t kMaxHops = 1000;

struct WalkOptions {
  std::string file;
  std::string start;
  std::string predicate;
  Direction direction = Direction::out;
  std::uint32_t hops = 2;
  std::uint64_t rows = 20;
  AskOptions ask;
};

void add_walk_options(CLI::App& command, WalkOptions& options) {
  command.add_option("FILE", options.file, "The graph: an image or N-Triples")->required();
  command.add_option("START", options.start, "A vertex: ub:name, an IRI, or a \"literal\"")
      ->required();
  command.add_option("--predicate", options.predicate, "Follow only edges with this label");
  const std::map<std::string, Direction> kDirections{
      {"out", Direction::out}, {"in", Direction::in}, {"both", Direction::both}};
  command
      .add_option("--direction", options.direction,
                  "out: from subject to object; in: the other way; both (out)")
      ->transform(CLI::CheckedTransformer(kDirections).description(""));
  add_ask_options(command, options.ask);
}

struct TimedWalk {
  BreadthFirst found;
  double seconds = 0;
};
Outcome<TimedWalk> ask_fleet(const WalkOptions& options, const Graph& graph, TermId start,
                             const Walk& walk, std::uint32_t hops) {
  GODWIT_TRY(const AttachedGraph attached, attach_graph(options.ask, graph));
  if (options.ask.how == How::pull) {
    const Stopwatch watch;
    GODWIT_TRY(BreadthFirst found, breadth_first_by_pull(attached.where, start, walk, hops));
    return TimedWalk{std::move(found), watch.seconds()};
  }
  GODWIT_TRY(Walker walker, Walker::create(attached.where));
  const Stopwatch watch;
  GODWIT_TRY(BreadthFirst found, walker.breadth_first(start, walk, hops));
  return TimedWalk{std::move(found), watch.seconds()};
}

Outcome<TimedWalk> search(const WalkOptions& options, const Graph& graph, TermId start,
                          const Walk& walk) {
  if (options.ask.how != How::reference) {
    return ask_fleet(options, graph, start, walk, kUnreached);
  }
  const Stopwatch watch;
  BreadthFirst found = breadth_first(graph, start, walk);
  return TimedWalk{std::move(found), watch.seconds()};
}

struct TimedNeighbourhood {
  Neighbourhood found;
  double seconds = 0;
};
Outcome<TimedNeighbourhood> find_near(const WalkOptions& options, const Graph& graph, TermId start,
                                      const Walk& walk) {
  if (options.ask.how == How::reference) {
    const Stopwatch watch;
    Neighbourhood found = k_hop(graph, start, walk, options.hops);
    return TimedNeighbourhood{std::move(found), watch.seconds()};
  }
  GODWIT_TRY(TimedWalk timed, ask_fleet(options, graph, start, walk, options.hops));
  BreadthFirst& walked = timed.found;
  return TimedNeighbourhood{{vertices_of(walked), std::move(walked.levels), walked.edges},
                            timed.seconds};
}

void print_levels(const std::vector<std::uint64_t>& levels) {
  godwit::cli::Columns table({">hops", ">vertices"});
  for (std::size_t hop = 0; hop < levels.size(); ++hop) {
    table.add({std::to_string(hop), grouped(levels[hop])});
  }
  fmt::print("{}", table.text());
}

void put_levels(trace::Json& out, const std::vector<std::uint64_t>& levels) {
  out.key("levels").open('[');
  for (const std::uint64_t level : levels) out.value(level);
  out.close(']');
}

void print_end(std::uint64_t vertices, std::uint64_t edges, double seconds) {
  fmt::print("{} vertices, {} edges followed, {:.3f} ms, {:.1f} M edges/s\n", grouped(vertices),
             grouped(edges), seconds * 1e3, static_cast<double>(edges) / seconds / 1e6);
}

Ended khop(const WalkOptions& options, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  GODWIT_TRY(const TermId start, find_term(graph, options.start));
  GODWIT_TRY(const TermId label, find_predicate(graph, options.predicate));
  GODWIT_TRY(const auto timed, find_near(options, graph, start, {label, options.direction}));
  const auto& [found, seconds] = timed;
  if (json) {
    trace::Json out;
    out.open('{').field("edges", found.edges).key("seconds").raw(fmt::format("{:.6f}", seconds));
    put_levels(out, found.levels);
    out.key("vertices").open('[');
    for (const TermId vertex : found.vertices) out.value(graph.dictionary().spelling(vertex));
    out.close(']').close('}');
    fmt::print("{}\n", out.text());
    return {};
  }
  const std::uint64_t all = found.vertices.size();
  const std::uint64_t shown = options.rows == 0 ? all : std::min(options.rows, all);
  for (std::uint64_t i = 0; i < shown; ++i) {
    fmt::print("{}\n", show_term(graph, found.vertices[i]));
  }
  if (shown < all) fmt::print("... and {} more; --rows 0 shows all\n", grouped(all - shown));
  print_levels(found.levels);
  print_end(all, found.edges, seconds);
  return {};
}

Ended bfs(const WalkOptions& options, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  GODWIT_TRY(const TermId start, find_term(graph, options.start));
  GODWIT_TRY(const TermId label, find_predicate(graph, options.predicate));
  GODWIT_TRY(const auto timed, search(options, graph, start, {label, options.direction}));
  const auto& [found, seconds] = timed;
  if (json) {
    trace::Json out;
    out.open('{').field("reached", found.reached).field("edges", found.edges);
    out.key("seconds").raw(fmt::format("{:.6f}", seconds));
    put_levels(out, found.levels);
    fmt::print("{}\n", out.close('}').text());
    return {};
  }
  print_levels(found.levels);
  print_end(found.reached, found.edges, seconds);
  return {};
}

}  // namespace

void add_khop(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "khop",
             .usage = "FILE START [--hops K] [--predicate P] [--direction out|in|both]\n"
                      "                  [--how reference|travel|pull --fleet ADDRESS] [--json]",
             .summary = "List the vertices within a few hops of one",
             .examples = "graph khop u1.graph http://university0.example/ --hops 2 --direction in\n"
                         "graph khop r18.graph urn:rmat:0 --hops 1"});
  const auto options = std::make_shared<WalkOptions>();
  add_walk_options(command, *options);
  command.add_option("--hops", options->hops, "How far to go (2)")->check(CLI::Range(0U, kMaxHops));
  command.add_option("--rows", options->rows, "Show so many vertices, 0 for all (20)");
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return khop(*options, invocation.json); };
  });
}

void add_bfs(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "bfs",
             .usage = "FILE START [--predicate P] [--direction out|in|both]\n"
                      "                  [--how reference|travel|pull --fleet ADDRESS] [--json]",
             .summary = "Search breadth first: how many vertices are how far away",
             .examples = "graph bfs r18.graph urn:rmat:0 --direction both"});
  const auto options = std::make_shared<WalkOptions>();
  add_walk_options(command, *options);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return bfs(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
