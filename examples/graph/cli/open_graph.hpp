// The graph that a command works on, and the terms that a person names in it.
#pragma once

#include <string>
#include <string_view>

#include "cli/exit.hpp"
#include "data/graph.hpp"

namespace godwit::graph::cli {

// From an image or from N-Triples, whatever the file is; with a progress bar.
[[nodiscard]] Result<Graph> open_graph(const std::string& path);

// The term for ub:name, <iri>, a bare iri, _:blank or "literal"; fails if the graph lacks it.
[[nodiscard]] Outcome<TermId> find_term(const Graph& graph, std::string_view text);
// The same for a predicate; "" is kNoTerm, any.
[[nodiscard]] Outcome<TermId> find_predicate(const Graph& graph, std::string_view text);

// For people.
[[nodiscard]] std::string show_term(const Graph& graph, TermId term);

// Seconds since it was made.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const;

 private:
  std::int64_t began_ns_;
};

}  // namespace godwit::graph::cli
