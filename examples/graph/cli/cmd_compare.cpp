// compare: the same questions in every way, with their times.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "cli/command.hpp"
#include "cli/fleet_options.hpp"
#include "cli/open_graph.hpp"
#include "cli/text_table.hpp"
#include "fleet/query.hpp"
#include "fleet/walks.hpp"
#include "query/named_queries.hpp"
#include "query/parser.hpp"

namespace godwit::graph::cli {
namespace {

struct CompareOptions {
  std::string file;
  FleetOptions fleet{.name = "compare"};
  std::uint32_t nodes = 4;
  LocalTransport transport = LocalTransport::tcp;
  std::uint32_t rounds = 5;
};

// A question, and the ways to answer it.
struct Question {
  std::string name;
  bool multi_hop = false;
  std::uint64_t edges = 0;  // that the reference looks at
  // True: the answer is the reference's.
  std::function<Result<bool>()> reference = {};
  std::function<Result<bool>()> travel = {};
  std::function<Result<bool>()> pull = {};
};

// The best of several rounds, in seconds; the first also carries the code there.
Result<double> best_time(const std::function<Result<bool>()>& ask, std::uint32_t rounds,
                         const std::string& what) {
  double best = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const Stopwatch watch;
    GODWIT_TRY(const bool right, ask());
    const double seconds = watch.seconds();
    if (!right) return fail(ErrorCode::internal, "{}: the answer is not the reference's", what);
    best = round == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

Result<Question> ask_query(const FleetGraph& where, const Graph& graph, const NamedQuery& named) {
  GODWIT_TRY(const Query query, parse_query(named.text));
  const Plan plan = make_plan(graph, query);
  GODWIT_TRY(Answer answer, evaluate(graph, query, plan));
  const auto expected = std::make_shared<Table>(std::move(answer.table));
  expected->sort();
  const auto is_right = [expected](Table table) {
    table.sort();
    return table == *expected;
  };
  Question question{.name = std::string(named.name), .multi_hop = named.multi_hop};
  question.edges = answer.edges;
  question.reference = [&graph, query, plan, is_right]() -> Result<bool> {
    GODWIT_TRY(Answer again, evaluate(graph, query, plan));
    return is_right(std::move(again.table));
  };
  question.travel = [&where, &graph, query, plan, is_right]() -> Result<bool> {
    GODWIT_TRY(Table table, query_by_travel(where, graph, query, plan));
    return is_right(std::move(table));
  };
  question.pull = [&where, &graph, query, plan, is_right]() -> Result<bool> {
    GODWIT_TRY(Table table, query_by_pull(where, graph, query, plan));
    return is_right(std::move(table));
  };
  return question;
}

Question ask_walk(const FleetGraph& where, Walker& walker, const Graph& graph, TermId start,
                  std::uint32_t max_hops) {
  const Walk walk{.label = kNoTerm, .direction = Direction::both};
  const auto expected = std::make_shared<BreadthFirst>(breadth_first(graph, start, walk, max_hops));
  const auto is_right = [expected](const BreadthFirst& found) {
    return found.distances == expected->distances && found.levels == expected->levels &&
           found.edges == expected->edges;
  };
  Question question{.name = max_hops == kUnreached ? "bfs" : fmt::format("{}-hop", max_hops)};
  question.multi_hop = true;
  question.edges = expected->edges;
  question.reference = [&graph, start, walk, max_hops, is_right]() -> Result<bool> {
    return is_right(breadth_first(graph, start, walk, max_hops));
  };
  question.travel = [&walker, start, walk, max_hops, is_right]() -> Result<bool> {
    GODWIT_TRY(const BreadthFirst found, walker.breadth_first(start, walk, max_hops));
    return is_right(found);
  };
  question.pull = [&where, start, walk, max_hops, is_right]() -> Result<bool> {
    GODWIT_TRY(const BreadthFirst found, breadth_first_by_pull(where, start, walk, max_hops));
    return is_right(found);
  };
  return question;
}

// The vertex with the most edges out.
TermId busiest(const Graph& graph) {
  TermId best = 0;
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    if (graph.out().edges_of(vertex).size() > graph.out().edges_of(best).size()) best = vertex;
  }
  return best;
}

Result<std::vector<Question>> all_questions(const FleetGraph& where, Walker& walker,
                                            const Graph& graph) {
  std::vector<Question> questions;
  for (const NamedQuery& named : named_queries()) {
    GODWIT_TRY(const Query query, parse_query(named.text));
    if (!make_plan(graph, query).missing.empty()) continue;  // about another graph
    GODWIT_TRY(Question question, ask_query(where, graph, named));
    questions.push_back(std::move(question));
  }
  if (graph.terms() == 0) return questions;
  for (const std::uint32_t hops : {1U, 2U, 3U, kUnreached}) {
    questions.push_back(ask_walk(where, walker, graph, busiest(graph), hops));
  }
  return questions;
}

Ended compare_ways(Fleet& fleet, const Graph& graph, const CompareOptions& options) {
  const Stopwatch loading;
  GODWIT_TRY(FleetGraph where, load_into(fleet, graph, options.fleet.name));
  fmt::print("{} triples on {} nodes in {:.2f} s, {:.1f} bytes per edge\n",
             grouped(graph.triples()), where.nodes().size(), loading.seconds(),
             static_cast<double>(where.memory_bytes()) / static_cast<double>(graph.triples()));
  const auto ask_all = [&]() -> Ended {
    GODWIT_TRY(Walker walker, Walker::create(where));
    GODWIT_TRY(const auto questions, all_questions(where, walker, graph));
    TextTable table({"question", "multi-hop", ">edges", ">reference ms", ">travel ms", ">pull ms",
                     ">pull/travel", ">travel M edges/s"});
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
                  "with the most edges, and checks\nevery answer."});
  const auto options = std::make_shared<CompareOptions>();
  command.add_option("FILE", options->file, "The graph: an image or N-Triples")->required();
  command.add_option("--nodes", options->nodes, "Start so many nodes here (4)")
      ->check(CLI::Range(1U, 64U));
  const std::map<std::string, LocalTransport> kTransports{{"shm", LocalTransport::shm},
                                                          {"tcp", LocalTransport::tcp}};
  command.add_option("--transport", options->transport, "Between them: shm or tcp (tcp)")
      ->transform(CLI::CheckedTransformer(kTransports).description(""));
  command.add_option("--rounds", options->rounds, "Ask so often, and take the best (5)")
      ->check(CLI::Range(1U, 1000U));
  add_fleet_options(command, options->fleet);
  command.callback(
      [&invocation, options] { invocation.command = [options] { return run(*options); }; });
}

}  // namespace godwit::graph::cli
