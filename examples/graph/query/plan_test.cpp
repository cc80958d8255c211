#include "query/plan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "query/estimate.hpp"
#include "query/parser.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

// A hundred people who know one another a little, and one who has a cat.
Graph people() {
  std::string text = "<x:p7> <x:has> <x:cat> .\n";
  for (int i = 0; i < 100; ++i) {
    text += fmt::format("<x:p{}> <x:type> <x:Person> .\n", i);
    for (int step : {1, 7, 13}) {
      text += fmt::format("<x:p{}> <x:knows> <x:p{}> .\n", i, (i + step) % 100);
    }
  }
  return graph_from(text);
}

std::vector<std::uint32_t> order_of(const Plan& plan) {
  std::vector<std::uint32_t> order;
  for (const Step& step : plan.steps) order.push_back(step.pattern);
  return order;
}

TEST(Plan, BeginsWithWhatIsRareAndFollowsEdgesFromThere) {
  const Graph graph = people();
  const auto query = parse_query(
      "SELECT ?x ?y { ?x <x:type> <x:Person> . ?y <x:type> <x:Person> . ?x <x:knows> ?y . "
      "?y <x:has> <x:cat> }");
  const Plan plan = make_plan(graph, *query);
  EXPECT_EQ(plan.steps[0].pattern, 3U);
  EXPECT_EQ(plan.steps[0].access, Access::in);
  for (std::size_t i = 1; i < plan.steps.size(); ++i) {
    EXPECT_NE(plan.steps[i].access, Access::scan);
    EXPECT_LE(plan.steps[i].rows, 3.01);
  }
}

TEST(Plan, ScansOnlyWhereNothingIsKnown) {
  const Graph graph = people();
  const auto query = parse_query("SELECT * { ?x <x:knows> ?y . ?y <x:knows> ?z }");
  const Plan plan = make_plan(graph, *query);
  EXPECT_EQ(plan.steps[0].access, Access::scan);
  EXPECT_NE(plan.steps[1].access, Access::scan);
}

TEST(Plan, EstimatesCountConstantsExactly) {
  const Graph graph = people();
  const auto rows_of = [&](const char* text) {
    return make_plan(graph, *parse_query(text)).steps.back().rows;
  };
  EXPECT_EQ(rows_of("SELECT * { ?x <x:type> <x:Person> }"), 100);
  EXPECT_EQ(rows_of("SELECT * { <x:p1> <x:knows> ?x }"), 3);
  EXPECT_EQ(rows_of("SELECT * { <x:p1> ?p ?x }"), 4);
  EXPECT_EQ(rows_of("SELECT * { ?x <x:knows> ?y }"), 300);
  EXPECT_EQ(rows_of("SELECT * { ?x ?p ?y }"), 401);
  EXPECT_EQ(rows_of("SELECT * { ?x <x:has> <x:cat> . <x:p7> <x:has> <x:p1> }"), 0);
}

TEST(Plan, AFilterStandsWhereItsVariablesFirstHaveValues) {
  const Graph graph = people();
  const auto query = parse_query(
      "SELECT * { ?x <x:has> <x:cat> . ?x <x:knows> ?y . ?y <x:knows> ?z . "
      "FILTER(?z != ?x && ?y != <x:p1> && 1 < 2) }");
  const Plan plan = make_plan(graph, *query);
  ASSERT_EQ(order_of(plan), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(plan.steps[0].filters.size(), 1U);
  EXPECT_EQ(plan.steps[1].filters.size(), 1U);
  EXPECT_EQ(plan.steps[2].filters.size(), 1U);
}

TEST(Plan, NamesTheTermThatTheGraphLacks) {
  const Graph graph = people();
  const auto query = parse_query("SELECT ?x { ?x <x:has> <x:dog> }");
  const Plan plan = make_plan(graph, *query);
  EXPECT_EQ(plan.missing, "<x:dog>");
  EXPECT_NE(explain(graph, *query, plan).find("the graph has no <x:dog>"), std::string::npos);
}

TEST(Plan, IsExplainedStepByStep) {
  const Graph graph = people();
  const auto query = parse_query("SELECT ?y { ?x <x:knows> ?y . ?x <x:has> <x:cat> }");
  const std::string text = explain(graph, *query, make_plan(graph, *query));
  EXPECT_NE(text.find("1. ?x <x:has> <x:cat>\n     by edges to the object; about 1 rows\n"
                      "2. ?x <x:knows> ?y\n     by edges of the subject; about 3 rows\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace godwit::graph
