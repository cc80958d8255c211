#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "data/adjacency.hpp"
#include "data/dictionary.hpp"
#include "data/number.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

TEST(Dictionary, GivesEachTermOneNumberInTheOrderOfAppearance) {
  Dictionary dictionary;
  for (int round = 0; round < 2; ++round) {
    for (TermId i = 0; i < 5000; ++i) {
      const auto id = dictionary.intern(fmt::format("<x:{}>", i));
      ASSERT_TRUE(id);
      ASSERT_EQ(*id, i);
    }
  }
  EXPECT_EQ(dictionary.size(), 5000U);
  EXPECT_EQ(dictionary.spelling(4711), "<x:4711>");
  EXPECT_EQ(dictionary.find("<x:17>"), TermId{17});
  EXPECT_EQ(dictionary.find("<x:5000>"), std::nullopt);
  EXPECT_EQ(Dictionary().find("<x:0>"), std::nullopt);
}

TEST(Dictionary, IsMadeAgainOfItsArrays) {
  Dictionary dictionary;
  for (const char* term : {"<x:a>", "<x:b>", "\"c\""}) ASSERT_TRUE(dictionary.intern(term));
  const auto ends = dictionary.ends();
  const auto again = Dictionary::from({ends.begin(), ends.end()}, std::string(dictionary.text()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->find("\"c\""), TermId{2});
  EXPECT_FALSE(Dictionary::from({5, 5}, "<x:a>"));
  EXPECT_FALSE(Dictionary::from({5, 10}, "<x:a><x:a>"));
  EXPECT_FALSE(Dictionary::from({5}, "<x:a>rest"));
  EXPECT_FALSE(Dictionary::from({6}, "<x:a>"));
}

TEST(Adjacency, HoldsWhatASetOfTriplesHolds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const auto vertices = static_cast<std::uint32_t>(1 + random.below(20));
    std::vector<Triple> triples(random.below(100));
    for (Triple& triple : triples) {
      triple.subject = static_cast<TermId>(random.below(vertices));
      triple.predicate = static_cast<TermId>(random.below(std::min(vertices, 3U)));
      triple.object = static_cast<TermId>(random.below(vertices));
    }
    const std::set<Triple> model(triples.begin(), triples.end());
    const Adjacency out = Adjacency::from(triples, vertices);
    const Adjacency in = out.reversed();
    ASSERT_EQ(out.view().edges.size(), model.size());
    ASSERT_EQ(in.view().edges.size(), model.size());
    for (TermId s = 0; s < vertices; ++s) {
      for (TermId p = 0; p < std::min(vertices, 3U); ++p) {
        std::uint64_t count = 0;
        for (TermId o = 0; o < vertices; ++o) {
          const bool there = model.contains({s, p, o});
          count += there ? 1 : 0;
          ASSERT_EQ(out.view().has(s, make_edge(p, o)), there) << "seed " << seed;
          ASSERT_EQ(in.view().has(o, make_edge(p, s)), there) << "seed " << seed;
        }
        ASSERT_EQ(out.view().edges_of(s, p).size(), count) << "seed " << seed;
      }
    }
  }
}

TEST(Adjacency, ASliceHasTheEdgesOfItsVertices) {
  Random random(7);
  const Graph graph = random_graph(random, 30, 200);
  const AdjacencyView whole = graph.out();
  for (TermId first = 0; first + 5 <= whole.vertices(); ++first) {
    const AdjacencyView slice = whole.slice(first, 5).slice(first + 1, 3);
    EXPECT_EQ(slice.vertices(), 3U);
    for (TermId vertex = first + 1; vertex < first + 4; ++vertex) {
      const auto expected = whole.edges_of(vertex);
      const auto edges = slice.edges_of(vertex);
      ASSERT_EQ(std::vector(edges.begin(), edges.end()),
                std::vector(expected.begin(), expected.end()));
    }
  }
}

TEST(Adjacency, RefusesArraysThatAreNone) {
  EXPECT_TRUE(Adjacency::from({0, 1, 2}, {make_edge(0, 1), make_edge(1, 0)}));
  EXPECT_FALSE(Adjacency::from(std::vector<std::uint64_t>{}, std::vector<Edge>{}));
  EXPECT_FALSE(Adjacency::from({0, 1}, {make_edge(0, 0), make_edge(0, 0)}));
  EXPECT_FALSE(Adjacency::from({0, 2, 1}, {make_edge(0, 0)}));
  EXPECT_FALSE(Adjacency::from({0, 1}, {make_edge(0, 1)}));
  EXPECT_FALSE(Adjacency::from({0, 1}, {make_edge(1, 0)}));
  EXPECT_FALSE(Adjacency::from({0, 2, 2}, {make_edge(1, 0), make_edge(0, 0)}));
  EXPECT_FALSE(Adjacency::from({0, 2}, {make_edge(0, 0), make_edge(0, 0)}));
}

TEST(Graph, CountsTriplesSubjectsAndObjectsOfAPredicate) {
  const Graph graph = graph_from(
      "<x:a> <x:p> <x:b> .\n<x:a> <x:p> <x:c> .\n<x:b> <x:p> <x:c> .\n<x:a> <x:q> <x:a> .\n"
      "<x:a> <x:p> <x:b> .\n");
  EXPECT_EQ(graph.triples(), 4U);
  const auto p = graph.statistics(*graph.dictionary().find("<x:p>"));
  EXPECT_EQ(p.triples, 3U);
  EXPECT_EQ(p.subjects, 2U);
  EXPECT_EQ(p.objects, 2U);
  EXPECT_EQ(graph.statistics(*graph.dictionary().find("<x:a>")).triples, 0U);
  EXPECT_EQ(graph.labels().size(), 2U);
}

TEST(Number, IsWhatANumericDatatypeSays) {
  const auto typed = [](std::string_view text, std::string_view type) {
    return number_of(fmt::format("\"{}\"^^<http://www.w3.org/2001/XMLSchema#{}>", text, type));
  };
  EXPECT_EQ(typed("42", "integer"), 42);
  EXPECT_EQ(typed("+7", "int"), 7);
  EXPECT_EQ(typed("-7", "long"), -7);
  EXPECT_EQ(typed("1.5", "decimal"), 1.5);
  EXPECT_EQ(typed("-1.5e3", "double"), -1500);
  EXPECT_EQ(typed("-INF", "double"), -std::numeric_limits<double>::infinity());
  for (const char* text : {"", "x", "1.5", "--1", "+-1", "1 ", " 1", "0x1"}) {
    EXPECT_TRUE(std::isnan(typed(text, "integer"))) << text;
  }
  EXPECT_TRUE(std::isnan(typed("1e3", "decimal")));
  EXPECT_TRUE(std::isnan(typed("inf", "double")));
  EXPECT_TRUE(std::isnan(typed("nan", "double")));
  EXPECT_TRUE(std::isnan(typed("1", "string")));
  for (const char* term : {"", "\"1\"", "<x:1>", "_:1", "\"1\"@en"}) {
    EXPECT_TRUE(std::isnan(number_of(term))) << term;
  }
}

}  // namespace
}  // namespace godwit::graph
