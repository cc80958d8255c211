#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/fail.hpp"
#include "cli/command.hpp"
#include "cli/open_graph.hpp"
#include "cli/text_table.hpp"
#include "data/image.hpp"

namespace godwit::graph::cli {
namespace {

Ended load(const std::string& from, const std::string& to) {
  const Stopwatch watch;
  GODWIT_TRY(const Graph graph, open_graph(from));
  GODWIT_CHECK(write_image(graph, to));
  fmt::print("{}: {} triples, {} terms, {:.1f} s\n", to, grouped(graph.triples()),
             grouped(graph.terms()), watch.seconds());
  return {};
}

}  // namespace

void add_load(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "load",
       .usage = "FILE.nt -o FILE.graph",
       .summary = "Read N-Triples and write the graph as an image, which opens faster",
       .examples = "graph load people.nt -o people.graph\n"
                   "zcat people.nt.gz | graph load - -o people.graph",
       .details = "Strict: the first line that is not N-Triples ends it, with line and column. "
                  "Triples\nthat come twice count once. Without the command, the others read "
                  ".nt files too."});
  const auto from = std::make_shared<std::string>();
  const auto to = std::make_shared<std::string>();
  command.add_option("FILE", *from, "N-Triples; - for standard input")->required();
  command.add_option("-o,--output", *to, "The image")->required();
  command.callback(
      [&invocation, from, to] { invocation.command = [from, to] { return load(*from, *to); }; });
}

}  // namespace godwit::graph::cli
