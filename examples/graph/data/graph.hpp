// A set of triples, ready to be asked: a dictionary, and the edges in both directions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/adjacency.hpp"
#include "data/dictionary.hpp"
#include "data/edge.hpp"

namespace godwit::graph {

// What a planner wants to know of a predicate.
struct LabelStatistics {
  TermId label = kNoTerm;
  std::uint64_t triples = 0;
  std::uint64_t subjects = 0;  // different ones
  std::uint64_t objects = 0;
};

struct GraphMemory {
  std::uint64_t edges_bytes = 0;  // both directions, offsets included
  std::uint64_t dictionary_bytes = 0;
  std::uint64_t numbers_bytes = 0;
};

// Immutable once made; any number of threads may read.
class Graph {
 public:
  Graph() = default;
  // `out` has the edges by subject, and one vertex for each term. The rest is derived.
  Graph(Dictionary dictionary, Adjacency out);

  [[nodiscard]] const Dictionary& dictionary() const noexcept { return dictionary_; }
  [[nodiscard]] std::uint32_t terms() const noexcept { return dictionary_.size(); }
  [[nodiscard]] std::uint64_t triples() const noexcept { return out_.view().edges.size(); }
  // Edges by subject, and by object.
  [[nodiscard]] AdjacencyView out() const noexcept { return out_.view(); }
  [[nodiscard]] AdjacencyView in() const noexcept { return in_.view(); }
  // Each term's value, NaN where it has none; filters compare these without the dictionary.
  [[nodiscard]] std::span<const double> numbers() const noexcept { return numbers_; }

  // In the order of their labels.
  [[nodiscard]] std::span<const LabelStatistics> labels() const noexcept { return labels_; }
  // All zeros if the term is no predicate.
  [[nodiscard]] LabelStatistics statistics(TermId label) const noexcept;
  [[nodiscard]] GraphMemory memory() const noexcept;

 private:
  Dictionary dictionary_;
  Adjacency out_;
  Adjacency in_;
  std::vector<double> numbers_;
  std::vector<LabelStatistics> labels_;
};

}  // namespace godwit::graph
