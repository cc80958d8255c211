#include "bfs/bfs.hpp"

#include <algorithm>

#include "bfs/program.hpp"
#include "common/cpu.hpp"
#include "common/ranks.hpp"
#include "common/stopwatch.hpp"

namespace gallery::bfs {
namespace {

std::vector<std::uint32_t> find_levels(godwit::Group& group, const Options& options,
                                       const LocalGraph& graph) {
  if (options.gpu) return find_levels_on_gpu(group, options, graph);
  return find_levels_at(Cpu{.workers = options.workers}, group, options, graph);
}

struct Dot {
  std::uint32_t at = 0;
  std::uint32_t level = 0;
};

// Every rank sends its edges' dots to rank 0, where they are counted as they arrive.
Plot plot_edges(godwit::Group& group, const Options& options, const LocalGraph& graph,
                const std::vector<std::uint32_t>& levels) {
  constexpr std::size_t kDots = std::size_t{kPlotEdge} * kPlotEdge;
  Plot plot{std::vector<std::uint64_t>(kDots), std::vector<std::uint64_t>(kDots)};
  auto exchange = need(godwit::Exchange<godwit::Reduced<Dot>>::create(group));
  exchange.reduce<Dot>([&](const Dot& dot) {
    plot.edges[dot.at] += 1;
    plot.levels[dot.at] += dot.level;
  });
  const auto place = [&](std::uint64_t vertex) { return vertex * kPlotEdge / options.vertices(); };
  for (std::size_t local = 0; local < levels.size(); ++local) {
    if (levels[local] == kUnreached) continue;
    const auto ranks = static_cast<std::uint64_t>(group.ranks());
    const std::uint64_t row = place(local * ranks + static_cast<std::uint64_t>(group.rank()));
    for (std::uint32_t i = graph.begin[local]; i < graph.begin[local + 1]; ++i) {
      const std::uint64_t at = row * kPlotEdge + place(graph.neighbours[i]);
      exchange.emit(Dot{static_cast<std::uint32_t>(at), levels[local]}, 0);
    }
  }
  need(exchange.advance());
  return plot;
}

// Ranks' parts, one after the other, into the order of the vertices.
std::vector<std::uint32_t> in_order(const std::vector<std::uint32_t>& parts, const Options& options,
                                    godwit::Rank ranks) {
  std::vector<std::uint32_t> levels(parts.size());
  std::size_t at = 0;
  for (godwit::Rank rank = 0; rank < ranks && !parts.empty(); ++rank) {
    const std::uint32_t count = local_vertices(options, rank, ranks);
    for (std::size_t local = 0; local < count; ++local) {
      levels[local * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)] =
          parts[at++];
    }
  }
  return levels;
}

}  // namespace

Search search(godwit::Group& group, const Options& options) {
  const LocalGraph graph = make_graph(group, options);
  const Stopwatch watch;
  const std::vector<std::uint32_t> levels = find_levels(group, options, graph);
  const double took = watch.seconds();

  Search result{.levels = in_order(gather(group, levels), options, group.ranks()),
                .seconds = took,
                .plot = plot_edges(group, options, graph, levels)};
  for (const std::uint64_t edges : result.plot.edges) result.edges += edges;
  result.edges /= 2;  // each was there from both its ends
  return result;
}

std::vector<std::uint32_t> search_alone(const Options& options) {
  std::vector<std::vector<std::uint32_t>> neighbours(options.vertices());
  for (std::int64_t i = 0; i < options.edges(); ++i) {
    const Edge edge = make_edge(options, i);
    neighbours[edge.from].push_back(edge.to);
    neighbours[edge.to].push_back(edge.from);
  }
  std::vector<std::uint32_t> levels(options.vertices(), kUnreached);
  std::vector<std::uint32_t> queue{root(options)};
  levels[queue[0]] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t next : neighbours[queue[at]]) {
      if (levels[next] != kUnreached) continue;
      levels[next] = levels[queue[at]] + 1;
      queue.push_back(next);
    }
  }
  return levels;
}

std::vector<std::uint64_t> count_levels(const std::vector<std::uint32_t>& levels) {
  std::vector<std::uint64_t> counts;
  for (const std::uint32_t level : levels) {
    if (level == kUnreached) continue;
    if (level >= counts.size()) counts.resize(level + 1);
    ++counts[level];
  }
  return counts;
}

}  // namespace gallery::bfs
