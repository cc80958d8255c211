#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/components.hpp"
#include "algorithms/pagerank.hpp"
#include "algorithms/traversal.hpp"
#include "base/random.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

constexpr std::uint32_t kFar = 1'000'000;
using Distances = std::vector<std::vector<std::uint32_t>>;

// All distances by the definition: the shortest way, through any vertex between.
Distances floyd(const Graph& graph, const Walk& walk) {
  Distances distances(graph.terms(), std::vector<std::uint32_t>(graph.terms(), kFar));
  for (TermId v = 0; v < graph.terms(); ++v) distances[v][v] = 0;
  for (const Triple& triple : all_triples(graph)) {
    if (walk.label != kNoTerm && walk.label != triple.predicate) continue;
    if (triple.subject == triple.object) continue;
    if (walk.direction != Direction::in) distances[triple.subject][triple.object] = 1;
    if (walk.direction != Direction::out) distances[triple.object][triple.subject] = 1;
  }
  for (TermId between = 0; between < graph.terms(); ++between) {
    for (TermId a = 0; a < graph.terms(); ++a) {
      for (TermId b = 0; b < graph.terms(); ++b) {
        distances[a][b] = std::min(distances[a][b], distances[a][between] + distances[between][b]);
      }
    }
  }
  return distances;
}

std::vector<Walk> walks_of(const Graph& graph) {
  std::vector<Walk> walks;
  for (const Direction direction : {Direction::out, Direction::in, Direction::both}) {
    walks.push_back({kNoTerm, direction});
    for (const LabelStatistics& label : graph.labels()) walks.push_back({label.label, direction});
  }
  return walks;
}

TEST(BreadthFirst, AgreesWithFloydOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 15, 10 + random.below(25));
    for (const Walk& walk : walks_of(graph)) {
      const Distances expected = floyd(graph, walk);
      for (TermId start = 0; start < graph.terms(); ++start) {
        const BreadthFirst found = breadth_first(graph, start, walk);
        std::uint64_t reached = 0;
        for (TermId v = 0; v < graph.terms(); ++v) {
          const bool far = expected[start][v] == kFar;
          ASSERT_EQ(found.distances[v], far ? kUnreached : expected[start][v]) << "seed " << seed;
          reached += far ? 0 : 1;
        }
        ASSERT_EQ(found.reached, reached);
        ASSERT_EQ(std::accumulate(found.levels.begin(), found.levels.end(), std::uint64_t{0}),
                  reached);
      }
    }
  }
}

TEST(KHop, FindsWhatIsNoFartherThanItsHops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 15, 30);
    for (const Walk& walk : walks_of(graph)) {
      const auto start = static_cast<TermId>(random.below(graph.terms()));
      const auto hops = static_cast<std::uint32_t>(random.below(4));
      const Distances expected = floyd(graph, walk);
      std::vector<TermId> near;
      for (std::uint32_t hop = 0; hop <= hops; ++hop) {
        for (TermId v = 0; v < graph.terms(); ++v) {
          if (expected[start][v] == hop) near.push_back(v);
        }
      }
      const Neighbourhood found = k_hop(graph, start, walk, hops);
      ASSERT_EQ(found.vertices, near) << "seed " << seed;
      ASSERT_LE(found.levels.size(), hops + 1U);
      const BreadthFirst limited = breadth_first(graph, start, walk, hops);
      ASSERT_EQ(limited.levels, found.levels);
      ASSERT_EQ(limited.edges, found.edges);
    }
  }
}

TEST(Components, AreTheVerticesThatReachEachOther) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 20, random.below(25));
    for (const TermId label :
         {kNoTerm, graph.labels().empty() ? kNoTerm : graph.labels()[0].label}) {
      const Components found = connected_components(graph, label);
      const Distances reach = floyd(graph, {label, Direction::both});
      std::uint64_t components = 0;
      std::uint64_t largest = 0;
      for (TermId v = 0; v < graph.terms(); ++v) {
        if (!takes_part(graph, v, label)) {
          ASSERT_EQ(found.smallest[v], kNoTerm);
          continue;
        }
        const auto& row = reach[v];
        const auto smallest = std::ranges::find_if(row, [](auto far) { return far != kFar; });
        ASSERT_EQ(found.smallest[v], smallest - row.begin()) << "seed " << seed;
        components += found.smallest[v] == v ? 1 : 0;
        largest = std::max<std::uint64_t>(largest, static_cast<std::uint64_t>(std::ranges::count_if(
                                                       row, [](auto far) { return far != kFar; })));
      }
      ASSERT_EQ(found.components, components);
      ASSERT_EQ(found.largest, largest);
    }
  }
}

TEST(PageRank, IsTheFixedPointOfItsEquation) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, 12, 30);
    const PageRank found = page_rank(graph, {.max_iterations = 1000, .tolerance = 1e-13});
    EXPECT_LT(found.moved, 1e-13);
    EXPECT_NEAR(std::accumulate(found.ranks.begin(), found.ranks.end(), 0.0), 1, 1e-9);
    // Once around by pushing along the triples, which the algorithm does by pulling.
    const auto count = static_cast<double>(found.vertices);
    std::vector<double> next(graph.terms(), 0);
    double stranded = 0;
    for (TermId v = 0; v < graph.terms(); ++v) {
      const auto edges = graph.out().edges_of(v);
      if (edges.empty()) stranded += found.ranks[v];
      for (const Edge edge : edges) {
        next[target_of(edge)] += 0.85 * found.ranks[v] / static_cast<double>(edges.size());
      }
    }
    for (TermId v = 0; v < graph.terms(); ++v) {
      if (!takes_part(graph, v, kNoTerm)) {
        EXPECT_EQ(found.ranks[v], 0);
        continue;
      }
      EXPECT_NEAR(found.ranks[v], next[v] + (0.15 + 0.85 * stranded) / count, 1e-9);
    }
  }
}

TEST(PageRank, PutsTheHubOfAStarOnTop) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += fmt::format("<x:{}> <x:p> <x:hub> .\n", i);
  const Graph graph = graph_from(text + "<x:hub> <x:p> <x:0> .\n");
  const PageRank found = page_rank(graph);
  const auto top = top_ranked(found, 2);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(graph.dictionary().spelling(top[0]), "<x:hub>");
  EXPECT_EQ(graph.dictionary().spelling(top[1]), "<x:0>");
  EXPECT_EQ(top_ranked(found, 99).size(), 11U);
}

TEST(PageRank, StopsAfterItsIterations) {
  Random random(1);
  const Graph graph = random_graph(random, 12, 30);
  const PageRank found = page_rank(graph, {.max_iterations = 3, .tolerance = 0});
  EXPECT_EQ(found.iterations, 3U);
  EXPECT_EQ(found.edges, 3 * graph.triples());
  EXPECT_EQ(page_rank(graph_from("")).vertices, 0U);
}

}  // namespace
}  // namespace godwit::graph
