// What several tests need: graphs out of text and out of chance, and folders that vanish.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/folder_for_test.hpp"
#include "base/random.hpp"
#include "data/graph_builder.hpp"
#include "ntriples/reader.hpp"

namespace godwit::graph {

inline Graph graph_from(std::string_view ntriples) {
  GraphBuilder builder;
  NtriplesReader reader("test", builder);
  EXPECT_TRUE(reader.feed(ntriples) && reader.finish());
  return std::move(builder).finish();
}

// Triples over few terms, so that patterns meet: subjects and objects <x:0> ..., predicates <p:0>
// ..., and some numbers as objects.
inline Graph random_graph(Random& random, std::uint64_t vertices, std::uint64_t triples) {
  GraphBuilder builder;
  for (std::uint64_t i = 0; i < triples; ++i) {
    const std::string subject = fmt::format("<x:{}>", random.below(vertices));
    const std::string predicate = fmt::format("<p:{}>", random.below(3));
    const std::string object =
        random.chance(0.2)
            ? fmt::format("\"{}\"^^<http://www.w3.org/2001/XMLSchema#integer>", random.below(5))
            : fmt::format("<x:{}>", random.below(vertices));
    EXPECT_TRUE(builder.add({.subject = subject, .predicate = predicate, .object = object}));
  }
  return std::move(builder).finish();
}

inline std::vector<Triple> all_triples(const Graph& graph) {
  std::vector<Triple> triples;
  for (TermId subject = 0; subject < graph.terms(); ++subject) {
    for (const Edge edge : graph.out().edges_of(subject)) {
      triples.push_back({subject, label_of(edge), target_of(edge)});
    }
  }
  return triples;
}

}  // namespace godwit::graph
