#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/pagerank.hpp"
#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "command_line/columns.hpp"
#include "fleet/whole_graph.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

constexpr std::uint32_t kMaxIterations = 10'000;

struct Options {
  std::string file;
  std::string predicate;
  std::uint64_t top = 10;
  PageRankOptions rank;
  AskOptions ask;
};

struct TimedRanks {
  PageRank found;
  double seconds = 0;
};
Outcome<TimedRanks> find(const Options& options, const Graph& graph) {
  if (options.ask.how == How::reference) {
    const Stopwatch watch;
    PageRank found = page_rank(graph, options.rank);
    return TimedRanks{std::move(found), watch.seconds()};
  }
  GODWIT_TRY(const AttachedGraph attached, attach_graph(options.ask, graph));
  const auto ask = options.ask.how == How::travel ? page_rank_by_travel : page_rank_by_pull;
  const Stopwatch watch;
  GODWIT_TRY(PageRank found, ask(attached.where, options.rank));
  return TimedRanks{std::move(found), watch.seconds()};
}

Ended run(Options options, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(options.file));
  GODWIT_TRY(options.rank.label, find_predicate(graph, options.predicate));
  GODWIT_TRY(const TimedRanks timed, find(options, graph));
  const auto& [found, seconds] = timed;
  const std::vector<TermId> top = top_ranked(found, options.top);
  if (json) {
    trace::Json out;
    out.open('{').field("vertices", found.vertices).field("iterations", found.iterations);
    if (found.edges > 0) out.field("edges", found.edges);
    out.key("moved").raw(fmt::format("{:.3e}", found.moved));
    out.key("seconds").raw(fmt::format("{:.6f}", seconds)).key("top").open('[');
    for (const TermId vertex : top) {
      out.open('{').field("vertex", graph.dictionary().spelling(vertex));
      out.key("rank").raw(fmt::format("{:.9g}", found.ranks[vertex])).close('}');
    }
    fmt::print("{}\n", out.close(']').close('}').text());
    return {};
  }
  godwit::cli::Columns table({">rank", "vertex"});
  for (const TermId vertex : top) {
    table.add({fmt::format("{:.6f}", found.ranks[vertex]), show_term(graph, vertex)});
  }
  fmt::print("{}", table.text());
  fmt::print("{} vertices, {} iterations, ", grouped(found.vertices), found.iterations);
  if (found.edges == 0) {  // the fleet's nodes do not count them
    fmt::print("{:.3f} ms\n", seconds * 1e3);
  } else {
    fmt::print("{} edges followed, {:.3f} ms, {:.1f} M edges/s\n", grouped(found.edges),
               seconds * 1e3, static_cast<double>(found.edges) / seconds / 1e6);
  }
  if (found.moved >= options.rank.tolerance) {
    fmt::print("not settled: the last iteration moved {:.1e}; --iterations goes on\n", found.moved);
  }
  return {};
}

}  // namespace

void add_pagerank(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "pagerank",
                         .usage = "FILE [--top N] [--predicate P] [--damping D] [--iterations N] "
                                  "[--tolerance T]\n                      "
                                  "[--how reference|travel|pull --fleet ADDRESS] [--json]",
                         .summary = "Rank vertices by where a random walker ends up",
                         .examples = "graph pagerank r18.graph --top 5\n"
                                     "graph pagerank u1.graph --predicate ub:cites"});
  const auto options = std::make_shared<Options>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("--top", options->top, "Show so many (10)");
  command.add_option("--predicate", options->predicate, "Follow only edges with this label");
  command.add_option("--damping", options->rank.damping, "How likely an edge is followed (0.85)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--iterations", options->rank.max_iterations, "At most so many (100)")
      ->check(CLI::Range(1U, kMaxIterations));
  command.add_option("--tolerance", options->rank.tolerance,
                     "End when an iteration moves less, in sum (1e-9)");
  add_ask_options(command, options->ask);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return run(*options, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
