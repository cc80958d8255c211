#include "bfs/graph.hpp"

#include <algorithm>
#include <numeric>

#include "common/random.hpp"
#include "common/ranks.hpp"
#include "common/split.hpp"

namespace gallery::bfs {

// The matrix of all pairs is halved again and again; each time one of the quarters is taken, the
// first more often than the others.
Edge make_edge(const Options& options, std::int64_t number) {
  constexpr float kFirst = 0.57F;  // the figures of Graph500
  constexpr float kOther = 0.19F;
  Random random{.key = static_cast<std::uint64_t>(number)};
  Edge edge;
  for (int bit = 0; bit < options.scale; ++bit) {
    const float at = random.next();
    const bool lower = at >= kFirst + kOther;
    const bool right = lower ? at >= kFirst + 2 * kOther : at >= kFirst;
    edge.from = edge.from * 2 + (lower ? 1 : 0);
    edge.to = edge.to * 2 + (right ? 1 : 0);
  }
  return edge;
}

std::uint32_t root(const Options& options) {
  return make_edge(options, 0).to;
}

std::uint32_t local_vertices(const Options& options, godwit::Rank rank, godwit::Rank ranks) {
  const auto all = static_cast<std::int64_t>(options.vertices());
  return static_cast<std::uint32_t>((all - rank + ranks - 1) / ranks);
}

LocalGraph make_graph(godwit::Group& group, const Options& options) {
  const auto ranks = static_cast<std::uint32_t>(group.ranks());
  const auto owner = [&](std::uint32_t vertex) {
    return static_cast<godwit::Rank>(vertex % ranks);
  };
  const Split numbers{.count = options.edges(), .ranks = group.ranks()};

  auto exchange = need(godwit::Exchange<Edge>::create(group));
  for (std::int64_t i = numbers.first(group.rank()); i < numbers.first(group.rank() + 1); ++i) {
    const Edge edge = make_edge(options, i);
    if (edge.from == edge.to) continue;
    exchange.emit(edge, owner(edge.from));
    exchange.emit(Edge{edge.to, edge.from}, owner(edge.to));
  }
  std::vector<Edge> mine;
  need(exchange.run([&](const Edge& edge, auto&) { mine.push_back(edge); }));

  // Sorted by vertex: then each vertex's neighbours are one run. Edges that came twice count once.
  const auto key = [](const Edge& edge) { return std::pair(edge.from, edge.to); };
  std::ranges::sort(mine, {}, key);
  const auto twice = std::ranges::unique(mine, {}, key);
  mine.erase(twice.begin(), twice.end());

  LocalGraph graph;
  graph.begin.resize(local_vertices(options, group.rank(), group.ranks()) + 1);
  for (const Edge& edge : mine) {
    ++graph.begin[edge.from / ranks + 1];
    graph.neighbours.push_back(edge.to);
  }
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
  return graph;
}

}  // namespace gallery::bfs
