#include "cli/open_graph.hpp"

#include <chrono>
#include <utility>

#include "base/fail.hpp"
#include "cli/progress_bar.hpp"
#include "data/graph_builder.hpp"
#include "data/image.hpp"
#include "ntriples/characters.hpp"
#include "ntriples/line_parser.hpp"
#include "ntriples/reader.hpp"
#include "query/prefixes.hpp"

namespace godwit::graph::cli {
namespace {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

Result<Graph> open_graph(const std::string& path) {
  if (path != "-" && looks_like_image(path)) return read_image(path);
  GraphBuilder builder;
  ProgressBar bar("loading");
  const auto show = [&](const ReadProgress& progress) {
    bar.show({.done = progress.bytes, .total = progress.total_bytes, .triples = progress.triples});
  };
  GODWIT_CHECK(read_ntriples(path, builder, {.progress = show}));
  return std::move(builder).finish();
}

Outcome<TermId> find_term(const Graph& graph, std::string_view text) {
  std::string spelling(text);
  if (auto expanded = expand(known_prefixes(), text)) {
    spelling = *std::move(expanded);
  } else if (has_scheme(text)) {
    spelling = fmt::format("<{}>", text);
  }
  LineParser parser;
  const auto term = parser.parse_term(spelling);
  if (!term) {
    return failed(Exit::usage,
                  fmt::format("'{}' is no term: {}; write ub:name, an IRI or a \"literal\"", text,
                              term.error().message));
  }
  const auto id = graph.dictionary().find(*term);
  if (!id) return failed(Exit::unknown, fmt::format("the graph has no term {}", *term));
  return *id;
}

Outcome<TermId> find_predicate(const Graph& graph, std::string_view text) {
  if (text.empty()) return kNoTerm;
  GODWIT_TRY(const TermId term, find_term(graph, text));
  if (graph.statistics(term).triples == 0) {
    return failed(Exit::unknown,
                  fmt::format("no triple has the predicate {}; `graph stats` lists those there are",
                              show_term(graph, term)));
  }
  return term;
}

std::string show_term(const Graph& graph, TermId term) {
  return shorten(known_prefixes(), graph.dictionary().spelling(term));
}

Stopwatch::Stopwatch() : began_ns_(now_ns()) {}

double Stopwatch::seconds() const {
  return static_cast<double>(now_ns() - began_ns_) / 1e9;
}

}  // namespace godwit::graph::cli
