#include "data/graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "data/number.hpp"

namespace godwit::graph {
namespace {

std::vector<LabelStatistics> count_labels(AdjacencyView out, AdjacencyView in) {
  std::map<TermId, LabelStatistics> counts;
  const auto for_each_run = [](AdjacencyView adjacency, auto&& count) {
    for (TermId vertex = 0; vertex < adjacency.vertices(); ++vertex) {
      const std::span<const Edge> edges = adjacency.edges_of(vertex);
      for (std::size_t at = 0; at < edges.size();) {
        const std::size_t begin = at;
        const TermId label = label_of(edges[begin]);
        while (at < edges.size() && label_of(edges[at]) == label) ++at;
        count(label, at - begin);
      }
    }
  };
  for_each_run(out, [&](TermId label, std::size_t edges) {
    LabelStatistics& statistics = counts[label];
    statistics.label = label;
    statistics.triples += edges;
    ++statistics.subjects;
  });
  for_each_run(in, [&](TermId label, std::size_t) { ++counts[label].objects; });
  std::vector<LabelStatistics> labels;
  for (const auto& [label, statistics] : counts) labels.push_back(statistics);
  return labels;
}

}  // namespace

Graph::Graph(Dictionary dictionary, Adjacency out)
    : dictionary_(std::move(dictionary)), out_(std::move(out)), in_(out_.reversed()) {
  numbers_.reserve(terms());
  for (TermId id = 0; id < terms(); ++id) numbers_.push_back(number_of(dictionary_.spelling(id)));
  labels_ = count_labels(this->out(), in());
}

LabelStatistics Graph::statistics(TermId label) const noexcept {
  const auto found = std::ranges::lower_bound(labels_, label, {}, &LabelStatistics::label);
  return found != labels_.end() && found->label == label ? *found : LabelStatistics{label};
}

GraphMemory Graph::memory() const noexcept {
  return {.edges_bytes = out_.memory_bytes() + in_.memory_bytes(),
          .dictionary_bytes = dictionary_.memory_bytes(),
          .numbers_bytes = numbers_.capacity() * sizeof(numbers_[0])};
}

}  // namespace godwit::graph
