// A graph in a fleet: every answer, found in every way, is that of the reference.
#include <gtest/gtest.h>

#include <string>

#include "fleet/fleet_for_test.hpp"
#include "fleet/query.hpp"
#include "fleet/walks.hpp"
#include "fleet/whole_graph.hpp"
#include "query/named_queries.hpp"
#include "query/parser.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

class FleetGraphs : public testing::TestWithParam<LocalTransport> {
 protected:
  void expect_answers(const FleetGraph& where, const Graph& graph, std::string_view text) {
    const Query query = good(parse_query(text));
    const Plan plan = make_plan(graph, query);
    Table expected = good(evaluate(graph, query, plan)).table;
    Table travelled = good(query_by_travel(where, graph, query, plan));
    Table pulled = good(query_by_pull(where, graph, query, plan));
    expected.sort();
    travelled.sort();
    pulled.sort();
    EXPECT_EQ(travelled, expected) << text << "\n" << travelled.rows() << " " << expected.rows();
    EXPECT_EQ(pulled, expected) << text << "\n" << pulled.rows() << " " << expected.rows();
  }
  void expect_named_queries(std::uint32_t count) {
    const Graph graph = universities(count);
    FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    for (const NamedQuery& query : named_queries()) expect_answers(where, graph, query.text);
    EXPECT_TRUE(where.drop());
  }

  void expect_walks(const Graph& graph, std::span<const Walk> walks, std::uint32_t max_hops) {
    FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    {
      Walker walker = good(Walker::create(where));
      Walker from_node_to_node = good(Walker::create(where, 0));
      for (const Walk& walk : walks) {
        const TermId start = target_of(graph.out().edges[graph.triples() / 2]);
        const BreadthFirst expected = breadth_first(graph, start, walk, max_hops);
        const Neighbourhood near = k_hop(graph, start, walk, max_hops);
        for (const BreadthFirst& found :
             {good(walker.breadth_first(start, walk, max_hops)),
              good(from_node_to_node.breadth_first(start, walk, max_hops)),
              good(breadth_first_by_pull(where, start, walk, max_hops))}) {
          EXPECT_EQ(found.distances, expected.distances);
          EXPECT_EQ(found.levels, expected.levels);
          EXPECT_EQ(found.reached, expected.reached);
          EXPECT_EQ(found.edges, expected.edges);
          EXPECT_EQ(vertices_of(found), near.vertices);
        }
      }
    }
    EXPECT_TRUE(where.drop());
  }

  void expect_whole(const Graph& graph, TermId label) {
    FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    const Components expected = connected_components(graph, label);
    for (const Components& found :
         {good(components_by_travel(where, label)), good(components_by_pull(where, label))}) {
      EXPECT_EQ(found.smallest, expected.smallest);
      EXPECT_EQ(found.vertices, expected.vertices);
      EXPECT_EQ(found.components, expected.components);
      EXPECT_EQ(found.largest, expected.largest);
    }
    const PageRankOptions options{.max_iterations = 10, .label = label};
    const PageRank ranked = page_rank(graph, options);
    for (const PageRank& found :
         {good(page_rank_by_travel(where, options)), good(page_rank_by_pull(where, options))}) {
      EXPECT_EQ(found.vertices, ranked.vertices);
      EXPECT_EQ(found.iterations, ranked.iterations);
      ASSERT_EQ(found.ranks.size(), ranked.ranks.size());
      for (std::size_t v = 0; v < ranked.ranks.size(); ++v) {
        ASSERT_NEAR(found.ranks[v], ranked.ranks[v], 1e-12) << v;
      }
    }
    EXPECT_TRUE(where.drop());
  }

  Fleet fleet_ = good(Fleet::local(4, {.transport = GetParam()}));
};

TEST_P(FleetGraphs, AnswerTheNamedQueriesLikeTheReference) {
  expect_named_queries(1);
}

TEST_P(FleetGraphs, AnswerOddQueriesLikeTheReference) {
  Random random(7);
  const Graph graph = random_graph(random, 40, 200);
  FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
  for (const char* text : {
           "SELECT * { ?s ?p ?o }",
           "SELECT ?s { ?s <p:0> ?s }",
           "SELECT * { ?a <p:0> ?b . ?b <p:1> ?c . ?c <p:2> ?d . ?d <p:0> ?e . ?e <p:1> ?a }",
           "SELECT DISTINCT ?p { <x:1> ?p ?o }",
           "SELECT * { ?a <p:0> ?n . ?b <p:1> ?m FILTER(?n < ?m && ?n != 2) }",
           "SELECT * { <x:1> <p:0> ?a . <x:2> <p:1> ?b FILTER(?a != ?b) }",
           "SELECT * { ?a <p:0> ?b . ?a <p:1> ?c FILTER(?b != <x:3> && ?c >= 1) }",
           "SELECT * { ?a <p:0> ?b FILTER(?b = <x:nowhere>) }",
           "SELECT ?a { ?a <p:0> <x:nowhere> }",
           "SELECT * { ?a ?p ?b . ?p ?q ?c }",
       }) {
    expect_answers(where, graph, text);
  }
  EXPECT_TRUE(where.drop());
}

constexpr Walk kWalks[] = {
    {kNoTerm, Direction::out}, {kNoTerm, Direction::in}, {kNoTerm, Direction::both}};

TEST_P(FleetGraphs, SearchAnRmatGraphLikeTheReference) {
  expect_walks(rmat(14), kWalks, kUnreached);
}

TEST_P(FleetGraphs, FindComponentsAndRanksLikeTheReference) {
  expect_whole(rmat(14), kNoTerm);
  Random random(5);
  const Graph graph = random_graph(random, 60, 50);
  expect_whole(graph, kNoTerm);
  expect_whole(graph, graph.labels()[0].label);
}

TEST_P(FleetGraphs, FindNeighbourhoodsLikeTheReference) {
  Random random(3);
  const Graph graph = random_graph(random, 200, 400);
  std::vector<Walk> walks(std::begin(kWalks), std::end(kWalks));
  for (const LabelStatistics& label : graph.labels()) {
    walks.push_back({label.label, Direction::both});
  }
  for (const std::uint32_t hops : {0U, 1U, 3U}) expect_walks(graph, walks, hops);
}

// Few enough vertices for one call that carries them, and then too many.
TEST_P(FleetGraphs, WalkUniversitiesAnyNumberOfHopsLikeTheReference) {
  const Graph graph = universities(1);
  for (const std::uint32_t hops : {1U, 2U, 3U, kUnreached}) expect_walks(graph, kWalks, hops);
}

TEST_P(FleetGraphs, FindComponentsAndRanksOfUniversitiesLikeTheReference) {
  expect_whole(universities(1), kNoTerm);
}

TEST_P(FleetGraphs, FollowAPathOfManyLevels) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += fmt::format("<x:{}> <x:next> <x:{}> .\n", i, i + 1);
  // As many leaves at the end as no call carries.
  for (int i = 0; i < 40'000; ++i) text += fmt::format("<x:600> <x:has> <x:leaf{}> .\n", i);
  const Graph graph = graph_from(text);
  FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
  {
    Walker walker = good(Walker::create(where, 0));
    const TermId start = graph.dictionary().find("<x:0>").value();
    const Walk walk{kNoTerm, Direction::out};
    for (const std::uint32_t hops : {100U, 600U, kUnreached}) {
      const BreadthFirst expected = breadth_first(graph, start, walk, hops);
      const BreadthFirst found = good(walker.breadth_first(start, walk, hops));
      EXPECT_EQ(found.levels, expected.levels);
      EXPECT_EQ(found.distances, expected.distances);
      EXPECT_EQ(found.edges, expected.edges);
    }
  }
  EXPECT_TRUE(where.drop());
}

TEST_P(FleetGraphs, AnswerQueriesThatOutgrowThePollingThread) {
  // A hundred times a hundred rows by way of one vertex, and a check of each at its own.
  std::string text;
  for (int i = 0; i < 150; ++i) {
    text += fmt::format("<x:a{0}> <x:p> <x:hub> .\n<x:hub> <x:q> <x:b{0}> .\n", i);
    text += fmt::format("<x:b{}> <x:r> <x:a{}> .\n", i, i * 7 % 150);
  }
  const Graph graph = graph_from(text);
  FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
  expect_answers(where, graph, "SELECT * { ?a <x:p> <x:hub> . <x:hub> <x:q> ?b }");
  expect_answers(where, graph, "SELECT * { ?a <x:p> ?h . ?h <x:q> ?b . ?b <x:r> ?a }");
  expect_answers(where, graph, "SELECT * { ?a <x:p> ?h . ?h <x:q> ?b . ?b <x:r> ?c }");
  EXPECT_TRUE(where.drop());
}

TEST_P(FleetGraphs, LongAnswersForTenUniversitiesAreTheReferences) {
  expect_named_queries(10);
  const Graph graph = universities(10);
  for (const std::uint32_t hops : {2U, kUnreached}) expect_walks(graph, kWalks, hops);
  expect_whole(graph, kNoTerm);
}

TEST_P(FleetGraphs, LongSearchOfALargeRmatGraphIsTheReferences) {
  const Graph graph = rmat(18);
  expect_walks(graph, kWalks, kUnreached);
  expect_whole(graph, kNoTerm);
}

TEST_P(FleetGraphs, AreFoundAgainByTheirNameAndOnlyByTheirOwnFile) {
  const Graph graph = graph_from("<x:a> <x:p> <x:b> .\n<x:b> <x:p> <x:c> .\n");
  FleetGraph where = good(FleetGraph::load(fleet_, code(), graph, {.name = "small"}));
  const FleetGraph again = good(FleetGraph::attach(fleet_, code(), graph, "small"));
  expect_answers(again, graph, "SELECT * { ?x <x:p> ?y . ?y <x:p> ?z }");
  const auto other =
      FleetGraph::attach(fleet_, code(), graph_from("<x:a> <x:p> <x:b> .\n"), "small");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("load the file first"), std::string::npos);
  const auto twice = FleetGraph::load(fleet_, code(), graph, {.name = "small"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::already_exists);
  EXPECT_TRUE(where.drop());
}

TEST(FleetOfOne, AnswersLikeTheReference) {
  Fleet fleet = good(Fleet::local(1, {.transport = LocalTransport::tcp}));
  const Graph graph = universities(1);
  FleetGraph where = good(FleetGraph::load(fleet, code(), graph));
  Walker walker = good(Walker::create(where));
  const Walk walk{kNoTerm, Direction::both};
  for (const std::uint32_t hops : {0U, 1U, 2U, kUnreached}) {
    const BreadthFirst expected = breadth_first(graph, 0, walk, hops);
    EXPECT_EQ(good(walker.breadth_first(0, walk, hops)).distances, expected.distances);
  }
  for (const NamedQuery& named : named_queries()) {
    const Query query = good(parse_query(named.text));
    const Plan plan = make_plan(graph, query);
    Table expected = good(evaluate(graph, query, plan)).table;
    Table found = good(query_by_travel(where, graph, query, plan));
    expected.sort();
    found.sort();
    EXPECT_EQ(found, expected) << named.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Over, FleetGraphs,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::graph
