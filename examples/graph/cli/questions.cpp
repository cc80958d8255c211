#include "cli/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "cli/open_graph.hpp"
#include "fleet/query.hpp"
#include "fleet/whole_graph.hpp"
#include "query/parser.hpp"

namespace godwit::graph::cli {
namespace {

constexpr std::uint32_t kRankIterations = 10;
// Sums are made in another order.
constexpr double kRankTolerance = 1e-9;

}  // namespace

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
  question.multi_hop = max_hops > 1;
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

Question ask_components(const FleetGraph& where, const Graph& graph) {
  const auto expected = std::make_shared<Components>(connected_components(graph));
  const auto is_right = [expected](const Components& found) {
    return found.smallest == expected->smallest && found.components == expected->components;
  };
  Question question{.name = "components", .multi_hop = true, .edges = expected->edges};
  question.reference = [&graph, is_right]() -> Result<bool> {
    return is_right(connected_components(graph));
  };
  question.travel = [&where, is_right]() -> Result<bool> {
    GODWIT_TRY(const Components found, components_by_travel(where));
    return is_right(found);
  };
  question.pull = [&where, is_right]() -> Result<bool> {
    GODWIT_TRY(const Components found, components_by_pull(where));
    return is_right(found);
  };
  return question;
}

Question ask_page_rank(const FleetGraph& where, const Graph& graph) {
  const PageRankOptions options{.max_iterations = kRankIterations};
  const auto expected = std::make_shared<PageRank>(page_rank(graph, options));
  const auto is_right = [expected](const PageRank& found) {
    return found.iterations == expected->iterations &&
           std::ranges::equal(found.ranks, expected->ranks,
                              [](double a, double b) { return std::abs(a - b) < kRankTolerance; });
  };
  Question question{.name = "pagerank", .multi_hop = true, .edges = expected->edges};
  question.reference = [&graph, options, is_right]() -> Result<bool> {
    return is_right(page_rank(graph, options));
  };
  question.travel = [&where, options, is_right]() -> Result<bool> {
    GODWIT_TRY(const PageRank found, page_rank_by_travel(where, options));
    return is_right(found);
  };
  question.pull = [&where, options, is_right]() -> Result<bool> {
    GODWIT_TRY(const PageRank found, page_rank_by_pull(where, options));
    return is_right(found);
  };
  return question;
}

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
  questions.push_back(ask_components(where, graph));
  questions.push_back(ask_page_rank(where, graph));
  return questions;
}

}  // namespace godwit::graph::cli
