// Collects triples and makes a graph of them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dictionary.hpp"
#include "data/edge.hpp"
#include "data/graph.hpp"
#include "data/triple_sink.hpp"

namespace godwit::graph {

// 12 bytes each while they are collected, so this is 48 GiB.
inline constexpr std::uint64_t kMaxTriples = std::uint64_t{1} << 32U;

// One thread.
class GraphBuilder final : public TripleSink {
 public:
  Status add(const SpelledTriple& triple) override;
  // Also those that came twice.
  [[nodiscard]] std::uint64_t added() const noexcept { return triples_.size(); }
  // Ends the builder's use. Costs a sort of each vertex's edges, twice.
  [[nodiscard]] Graph finish() &&;

 private:
  Dictionary dictionary_;
  std::vector<Triple> triples_;
};

}  // namespace godwit::graph
