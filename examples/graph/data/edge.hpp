// Terms, triples and edges as integers: what a graph is made of, in memory, in files and in
// regions. Light enough for mobile code.
#pragma once

#include <compare>
#include <cstdint>

namespace godwit::graph {

// A term (an IRI, a blank node or a literal) by its place in the dictionary. Subjects, predicates
// and objects share one numbering, and vertices are terms.
using TermId = std::uint32_t;
inline constexpr TermId kNoTerm = 0xFFFF'FFFF;

struct Triple {
  TermId subject = 0;
  TermId predicate = 0;
  TermId object = 0;
  friend auto operator<=>(const Triple&, const Triple&) = default;
};

// One edge of a vertex in 8 bytes: its label above, the vertex at the other end below. So integers
// sort by label and then by target, and one region element is one edge, read and written whole.
using Edge = std::uint64_t;

[[nodiscard]] constexpr Edge make_edge(TermId label, TermId target) noexcept {
  return static_cast<Edge>(label) << 32U | target;
}
[[nodiscard]] constexpr TermId label_of(Edge edge) noexcept {
  return static_cast<TermId>(edge >> 32U);
}
[[nodiscard]] constexpr TermId target_of(Edge edge) noexcept {
  return static_cast<TermId>(edge);
}

}  // namespace godwit::graph
