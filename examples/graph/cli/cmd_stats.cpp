#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "cli/cell_text.hpp"
#include "cli/command.hpp"
#include "cli/open_graph.hpp"
#include "command_line/columns.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

double per(std::uint64_t bytes, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(count);
}

struct Degrees {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
};
Degrees largest_degrees(const Graph& graph) {
  Degrees largest;
  for (TermId vertex = 0; vertex < graph.terms(); ++vertex) {
    largest.out = std::max<std::uint64_t>(largest.out, graph.out().edges_of(vertex).size());
    largest.in = std::max<std::uint64_t>(largest.in, graph.in().edges_of(vertex).size());
  }
  return largest;
}

void print_text(const Graph& graph) {
  const GraphMemory memory = graph.memory();
  const Degrees degrees = largest_degrees(graph);
  const std::uint64_t all = memory.edges_bytes + memory.dictionary_bytes + memory.numbers_bytes;
  fmt::print("triples      {}\nterms        {}\n", grouped(graph.triples()),
             grouped(graph.terms()));
  fmt::print("most edges   {} out of a vertex, {} into one\n", grouped(degrees.out),
             grouped(degrees.in));
  fmt::print("edges        {} bytes, {:.1f} per edge, both directions\n",
             grouped(memory.edges_bytes), per(memory.edges_bytes, graph.triples()));
  fmt::print("dictionary   {} bytes, {:.1f} per term\n", grouped(memory.dictionary_bytes),
             per(memory.dictionary_bytes, graph.terms()));
  fmt::print("numbers      {} bytes\n", grouped(memory.numbers_bytes));
  fmt::print("together     {} bytes, {:.1f} per edge\n\n", grouped(all), per(all, graph.triples()));
  std::vector<LabelStatistics> labels(graph.labels().begin(), graph.labels().end());
  std::ranges::stable_sort(labels, std::greater<>(), &LabelStatistics::triples);
  godwit::cli::Columns table({"predicate", ">triples", ">subjects", ">objects"});
  for (const LabelStatistics& label : labels) {
    table.add({show_term(graph, label.label), grouped(label.triples), grouped(label.subjects),
               grouped(label.objects)});
  }
  fmt::print("{}", table.text());
}

void print_json(const Graph& graph) {
  const GraphMemory memory = graph.memory();
  const Degrees degrees = largest_degrees(graph);
  trace::Json out;
  out.open('{').field("triples", graph.triples()).field("terms", graph.terms());
  out.field("max_out_degree", degrees.out).field("max_in_degree", degrees.in);
  out.field("edges_bytes", memory.edges_bytes).field("numbers_bytes", memory.numbers_bytes);
  out.field("dictionary_bytes", memory.dictionary_bytes);
  out.field("bytes_per_edge", per(memory.edges_bytes, graph.triples()));
  out.key("predicates").open('[');
  for (const LabelStatistics& label : graph.labels()) {
    out.open('{').field("predicate", graph.dictionary().spelling(label.label));
    out.field("triples", label.triples).field("subjects", label.subjects);
    out.field("objects", label.objects).close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

Ended run(const std::string& file, bool json) {
  GODWIT_TRY(const Graph graph, open_graph(file));
  json ? print_json(graph) : print_text(graph);
  return {};
}

}  // namespace

void add_stats(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "stats",
                         .usage = "FILE [--json]",
                         .summary = "Count triples, terms and predicates, and the memory they take",
                         .examples = "graph stats u1.graph"});
  const auto file = std::make_shared<std::string>();
  command.add_option("FILE", *file, "The graph: an image or N-Triples")->required();
  add_json_flag(command, invocation);
  command.callback([&invocation, file] {
    invocation.command = [&invocation, file] { return run(*file, invocation.json); };
  });
}

}  // namespace godwit::graph::cli
