// R-MAT graphs (Chakrabarti, Zhan, Faloutsos 2004): few vertices with very many edges, many with
// few, as in social networks.
#pragma once

#include <cstdint>

#include "data/triple_sink.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

inline constexpr std::uint32_t kMaxRmatScale = 31;
inline constexpr std::uint32_t kMaxRmatEdgeFactor = 1024;

struct RmatOptions {
  std::uint32_t scale = 10;        // 2^scale vertices
  std::uint32_t edge_factor = 16;  // edges per vertex, before those that come twice are dropped
  std::uint64_t seed = 1;
  // How likely an edge falls into each quarter of the matrix; together 1. These are Graph500's.
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  double d = 0.05;
};

// Triples <urn:rmat:7> <urn:rmat:edge> <urn:rmat:9>, some of them more than once. The same options
// give the same triples in the same order, on every machine.
Status generate_rmat(const RmatOptions& options, TripleSink& sink);

}  // namespace godwit::graph
