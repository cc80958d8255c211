// A node that is killed while it is asked: the answer ends soon, and says that the node is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/fail.hpp"
#include "fleet/failure.hpp"
#include "fleet/fleet_for_test.hpp"
#include "fleet/query.hpp"
#include "fleet/walks.hpp"
#include "fleet/whole_graph.hpp"
#include "query/named_queries.hpp"
#include "query/parser.hpp"

namespace godwit::graph {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(30);
// Far below the deadline of a call: the end is noticed, not waited for.
constexpr auto kSoon = std::chrono::seconds(10);

// Asks something again and again; false is a wrong answer.
using Ask = std::function<Result<bool>()>;

struct Search {
  Graph graph;
  TermId start = 0;
  Walk walk{kNoTerm, Direction::both};
  std::uint32_t max_hops = kUnreached;
};

// Of all that can be reached, in many calls.
Search whole_search() {
  Search search{.graph = rmat(12)};
  search.start = target_of(search.graph.out().edges[0]);
  return search;
}

// Small enough for one call that goes from node to node.
Search near_search() {
  Search search{.graph = universities(1), .walk = {kNoTerm, Direction::out}, .max_hops = 2};
  // Of the vertices with the most edges, which lead to every node.
  const AdjacencyView out = search.graph.out();
  for (TermId vertex = 0; vertex < search.graph.terms(); ++vertex) {
    if (out.edges_of(vertex).size() > out.edges_of(search.start).size()) search.start = vertex;
  }
  return search;
}

class KilledNode : public testing::TestWithParam<LocalTransport> {
 protected:
  // Kills a node once the first answer is there, while others are under way.
  void expect_loss_is_told(const Ask& ask) {
    std::atomic<bool> answered{false};
    std::optional<Error> end;
    std::jthread asker([&] {
      const auto give_up = steady_clock::now() + kPatience;
      while (!end && steady_clock::now() < give_up) {
        const Result<bool> right = ask();
        if (!right) end = right.error();
        if (right && !*right) end = Error{ErrorCode::internal, "a wrong answer"};
        answered = true;
        answered.notify_all();
      }
    });
    answered.wait(false);  // every ask ends
    ASSERT_TRUE(fleet_.kill(fleet_.find("n2").value()));
    const auto killed = steady_clock::now();
    asker.join();
    EXPECT_LT(steady_clock::now() - killed, kSoon);
    ASSERT_TRUE(end) << "nobody noticed";
    expect_names_loss(*end);
    // By now there is no link that could break: who asks finds nobody there.
    const Result<bool> later = ask();
    ASSERT_FALSE(later);
    expect_names_loss(later.error());
  }

  static void expect_names_loss(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::node_lost) << error.message;
    EXPECT_TRUE(error.message.find("lost") != std::string::npos ||
                error.message.find("n2") != std::string::npos)
        << error.message;
  }

  using QueryBy = Result<Table>(const FleetGraph&, const Graph&, const Query&, const Plan&,
                                const EvaluateOptions&);
  void expect_query_ends(QueryBy& query_by) {
    const Graph graph = universities(1);
    const FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    const Query query = good(parse_query(find_named_query("q9")->text));
    const Plan plan = make_plan(graph, query);
    Table expected = good(evaluate(graph, query, plan)).table;
    expected.sort();
    expect_loss_is_told([&]() -> Result<bool> {
      GODWIT_TRY(Table found, query_by(where, graph, query, plan, {}));
      found.sort();
      return found == expected;
    });
  }

  using SearchBy = std::function<Result<BreadthFirst>()>;
  void expect_search_ends(const Search& search, const SearchBy& search_by) {
    const BreadthFirst expected =
        breadth_first(search.graph, search.start, search.walk, search.max_hops);
    expect_loss_is_told([&]() -> Result<bool> {
      GODWIT_TRY(const BreadthFirst found, search_by());
      return found.distances == expected.distances;
    });
  }
  void expect_walker_ends(const Search& search, std::uint64_t max_relayed = 2'000'000) {
    const FleetGraph where = good(FleetGraph::load(fleet_, code(), search.graph));
    Walker walker = good(Walker::create(where, max_relayed));
    expect_search_ends(
        search, [&] { return walker.breadth_first(search.start, search.walk, search.max_hops); });
  }

  using ComponentsBy = Result<Components>(const FleetGraph&, TermId);
  void expect_components_end(ComponentsBy& components_by) {
    const Graph graph = rmat(12);
    const FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    const Components expected = connected_components(graph);
    expect_loss_is_told([&]() -> Result<bool> {
      GODWIT_TRY(const Components found, components_by(where, kNoTerm));
      return found.smallest == expected.smallest;
    });
  }

  using RankBy = Result<PageRank>(const FleetGraph&, const PageRankOptions&);
  void expect_ranking_ends(RankBy& rank_by) {
    const Graph graph = rmat(12);
    const FleetGraph where = good(FleetGraph::load(fleet_, code(), graph));
    const PageRankOptions options{.max_iterations = 5};
    const PageRank expected = page_rank(graph, options);
    expect_loss_is_told([&]() -> Result<bool> {
      GODWIT_TRY(const PageRank found, rank_by(where, options));
      return found.iterations == expected.iterations;
    });
  }

  Fleet fleet_ = good(Fleet::local(4, {.transport = GetParam()}));
};

TEST_P(KilledNode, EndsAQueryThatTravels) {
  expect_query_ends(query_by_travel);
}
TEST_P(KilledNode, EndsAQueryThatPulls) {
  expect_query_ends(query_by_pull);
}
TEST_P(KilledNode, EndsASearchThatTravels) {
  expect_walker_ends(whole_search());
}
TEST_P(KilledNode, EndsASearchThatGoesFromNodeToNode) {
  expect_walker_ends(whole_search(), 0);
}
TEST_P(KilledNode, EndsACallOnItsWay) {
  expect_walker_ends(near_search());
}
TEST_P(KilledNode, EndsASearchThatPulls) {
  const Search search = whole_search();
  const FleetGraph where = good(FleetGraph::load(fleet_, code(), search.graph));
  expect_search_ends(search,
                     [&] { return breadth_first_by_pull(where, search.start, search.walk); });
}
TEST_P(KilledNode, EndsComponentsThatTravel) {
  expect_components_end(components_by_travel);
}
TEST_P(KilledNode, EndsComponentsThatPull) {
  expect_components_end(components_by_pull);
}
TEST_P(KilledNode, EndsARankingThatTravels) {
  expect_ranking_ends(page_rank_by_travel);
}
TEST_P(KilledNode, EndsARankingThatPulls) {
  expect_ranking_ends(page_rank_by_pull);
}

// Which of the two is told depends on who notices first.
TEST(GraphFailure, ANodeThatCannotBeReachedIsLost) {
  const Error unreachable{ErrorCode::unreachable, "region 'ranks' on node n2: no link"};
  const Error told = failed("the graph", unreachable).value();
  EXPECT_EQ(told.code, ErrorCode::node_lost);
  EXPECT_NE(told.message.find("n2"), std::string::npos);
  const Error other = failed("the graph", Error{ErrorCode::resource_exhausted, "full"}).value();
  EXPECT_EQ(other.code, ErrorCode::resource_exhausted);
}

INSTANTIATE_TEST_SUITE_P(Over, KilledNode,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::graph
