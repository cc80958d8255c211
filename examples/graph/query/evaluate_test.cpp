#include "query/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "generate/university.hpp"
#include "query/named_queries.hpp"
#include "query/parser.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

// The definition of an answer: every choice of a triple for each pattern that agrees with itself.
class BruteForce {
 public:
  BruteForce(const Graph& graph, const Query& query)
      : graph_(graph), query_(query), triples_(all_triples(graph)) {
    std::vector<std::string> columns;
    for (const std::uint32_t column : query.selected) columns.push_back(query.variables[column]);
    answer_ = Table(columns);
    bindings_.assign(query.variables.size(), kNoTerm);
  }
  Table run() {
    choose(0);
    answer_.sort();
    return std::move(answer_);
  }

 private:
  bool agree(const QueryTerm& place, TermId term, std::vector<TermId>& bindings) const {
    if (const auto* text = std::get_if<std::string>(&place)) {
      return graph_.dictionary().spelling(term) == *text;
    }
    TermId& bound = bindings[std::get<Variable>(place).number];
    if (bound == kNoTerm) bound = term;
    return bound == term;
  }
  void choose(std::size_t pattern) {
    if (pattern == query_.patterns.size()) return finish();
    const Pattern& wanted = query_.patterns[pattern];
    for (const Triple& triple : triples_) {
      const std::vector<TermId> before = bindings_;
      if (agree(wanted.subject, triple.subject, bindings_) &&
          agree(wanted.predicate, triple.predicate, bindings_) &&
          agree(wanted.object, triple.object, bindings_)) {
        choose(pattern + 1);
      }
      bindings_ = before;
    }
  }
  void finish() {
    for (const Filter& filter : query_.filters) {
      if (!PreparedFilter::from(filter).holds(graph_, bindings_)) return;
    }
    std::vector<TermId> row;
    for (const std::uint32_t column : query_.selected) row.push_back(bindings_[column]);
    if (query_.distinct && !seen_.insert(row).second) return;
    answer_.add(row);
  }

  const Graph& graph_;
  const Query& query_;
  std::vector<Triple> triples_;
  std::vector<TermId> bindings_;
  std::set<std::vector<TermId>> seen_;
  Table answer_;
};

QueryTerm random_place(Random& random, double constant, std::uint32_t variables) {
  if (random.chance(constant)) return fmt::format("<x:{}>", random.below(4));
  return Variable{static_cast<std::uint32_t>(random.below(variables))};
}
// Predicates have a variable of their own: they are seldom subjects too.
QueryTerm random_predicate(Random& random, std::uint32_t variable) {
  if (random.chance(0.8)) return fmt::format("<p:{}>", random.below(3));
  return Variable{variable};
}

Query random_query(Random& random) {
  Query query;
  const auto variables = static_cast<std::uint32_t>(2 + random.below(3));
  const std::uint64_t patterns = 1 + random.below(3);
  for (std::uint64_t i = 0; i < patterns; ++i) {
    query.patterns.push_back({.subject = random_place(random, 0.1, variables),
                              .predicate = random_predicate(random, variables),
                              .object = random_place(random, 0.1, variables)});
  }
  // Only variables that a pattern has, numbered anew, as the parser would.
  std::vector<std::uint32_t> numbers(variables + 1, kNoVariable);
  for (Pattern& pattern : query.patterns) {
    for (QueryTerm* place : {&pattern.subject, &pattern.predicate, &pattern.object}) {
      auto* variable = std::get_if<Variable>(place);
      if (variable == nullptr) continue;
      std::uint32_t& number = numbers[variable->number];
      if (number == kNoVariable) {
        number = static_cast<std::uint32_t>(query.variables.size());
        query.variables.push_back(fmt::format("v{}", number));
      }
      variable->number = number;
    }
  }
  const auto known = static_cast<std::uint32_t>(query.variables.size());
  for (std::uint32_t i = 0; i < known; ++i) {
    if (i == 0 || random.chance(0.6)) query.selected.push_back(i);
  }
  query.distinct = random.chance(0.3);
  if (known > 0 && random.chance(0.4)) {
    const auto left = Variable{static_cast<std::uint32_t>(random.below(known))};
    const auto right = Variable{static_cast<std::uint32_t>(random.below(known))};
    const auto comparison = static_cast<Comparison>(random.below(6));
    if (random.chance(0.5)) {
      query.filters.push_back({left, comparison, right});
    } else {
      query.filters.push_back(
          {left, comparison, "\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>"});
    }
  }
  return query;
}

TEST(Evaluate, AgreesWithBruteForceOnRandomGraphs) {
  std::uint64_t rows = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 6, 10 + random.below(40));
    const Query query = random_query(random);
    if (query.variables.empty()) continue;
    auto answer = evaluate(graph, query);
    ASSERT_TRUE(answer) << "seed " << seed << ": " << answer.error().message;
    answer->table.sort();
    ASSERT_EQ(answer->table, BruteForce(graph, query).run()) << "seed " << seed;
    rows += answer->table.rows();
  }
  EXPECT_GT(rows, 1000U);  // it was worth comparing
}

TEST(Evaluate, TheOrderOfPatternsChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 8, 40);
    Query query = random_query(random);
    if (query.variables.empty()) continue;
    auto first = evaluate(graph, query);
    std::ranges::reverse(query.patterns);
    auto second = evaluate(graph, query);
    ASSERT_TRUE(first && second);
    first->table.sort();
    second->table.sort();
    ASSERT_EQ(first->table, second->table) << "seed " << seed;
  }
}

TEST(Evaluate, StopsAtTheLimit) {
  const Graph graph = graph_from("<x:a> <x:p> <x:b> .\n<x:a> <x:p> <x:c> .\n<x:b> <x:p> <x:c> .\n");
  for (const std::uint64_t limit : {0U, 1U, 2U, 3U, 9U}) {
    const auto query = parse_query(fmt::format("SELECT * {{ ?x <x:p> ?y }} LIMIT {}", limit));
    const auto answer = evaluate(graph, *query);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->table.rows(), std::min<std::uint64_t>(limit, 3));
  }
  const auto distinct = parse_query("SELECT DISTINCT ?x { ?x <x:p> ?y } LIMIT 2");
  EXPECT_EQ(evaluate(graph, *distinct)->table.rows(), 2U);
}

TEST(Evaluate, TooManyRowsOrEdgesAreAnErrorNotAPartOfTheAnswer) {
  Random random(1);
  const Graph graph = random_graph(random, 20, 100);
  const auto query = parse_query("SELECT * { ?a <p:0> ?b . ?c <p:1> ?d }");
  const auto rows = evaluate(graph, *query, {.max_rows = 10});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::too_large);
  EXPECT_NE(rows.error().message.find("more than 10 rows"), std::string::npos);
  const auto edges = evaluate(graph, *query, {.max_edges = 100});
  ASSERT_FALSE(edges);
  EXPECT_EQ(edges.error().code, ErrorCode::too_large);
  const auto limited = parse_query("SELECT * { ?a <p:0> ?b . ?c <p:1> ?d } LIMIT 10");
  EXPECT_TRUE(evaluate(graph, *limited, {.max_rows = 10}));
}

TEST(Evaluate, ATermThatTheGraphLacksHasNoRows) {
  const Graph graph = graph_from("<x:a> <x:p> <x:b> .\n");
  const auto answer = evaluate(graph, *parse_query("SELECT ?x { ?x <x:p> <x:nobody> }"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->table.rows(), 0U);
}

class NamedQueries : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    GraphBuilder builder;
    ASSERT_TRUE(generate_universities({}, builder));
    graph = new Graph(std::move(builder).finish());
  }
  static void TearDownTestSuite() {
    delete graph;
    graph = nullptr;
  }
  static Graph* graph;
};
Graph* NamedQueries::graph = nullptr;

TEST_F(NamedQueries, HaveRowsOnOneUniversityAndLookAtFewEdges) {
  for (const NamedQuery& named : named_queries()) {
    const auto query = parse_query(named.text);
    ASSERT_TRUE(query);
    const auto answer = evaluate(*graph, *query);
    ASSERT_TRUE(answer) << named.name << ": " << answer.error().message;
    EXPECT_GT(answer->table.rows(), 0U) << named.name;
    EXPECT_LT(answer->edges, graph->triples()) << named.name;
  }
}

// q9's rows, found by looking at what it means instead of by a plan.
TEST_F(NamedQueries, Q9FindsThoseWhoTakeACourseOfTheirAdvisor) {
  const auto id = [&](std::string_view name) {
    return *graph->dictionary().find(fmt::format("<{}{}>", kUniversityPrefix, name));
  };
  std::uint64_t expected = 0;
  for (TermId student = 0; student < graph->terms(); ++student) {
    for (const Edge advisor : graph->out().edges_of(student, id("advisor"))) {
      for (const Edge course : graph->out().edges_of(student, id("takesCourse"))) {
        const Edge teaches = make_edge(id("teacherOf"), target_of(course));
        if (graph->out().has(target_of(advisor), teaches)) ++expected;
      }
    }
  }
  const auto answer = evaluate(*graph, *parse_query(find_named_query("q9")->text));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->table.rows(), expected);
}

}  // namespace
}  // namespace godwit::graph
