// graph: generates, loads and asks graphs of triples, in this process, which is the reference, and
// in a fleet; see docs/graph.md.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "trace/json.hpp"

namespace godwit::graph::cli {
namespace {

std::string footer() {
  std::string text =
      "`graph COMMAND --help` explains a command. Files ending in .nt are N-Triples, those in "
      ".graph\n"
      "images, which open much faster.\n"
      "\n"
      "A first run:\n"
      "  $ graph generate universities -o u1.nt\n"
      "  $ graph load u1.nt -o u1.graph\n"
      "  $ graph query u1.graph q9\n"
      "  $ graph khop u1.graph http://university0.example/ --hops 2 --direction in\n"
      "\n"
      "Exit codes:";
  for (const ExitMeaning& meaning : exit_meanings()) {
    text += fmt::format("\n  {}  {:<10} {}", static_cast<int>(meaning.exit), meaning.name,
                        meaning.meaning);
  }
  return text;
}

int tell(const Failed& failed, bool json) {
  fmt::print(stderr, "graph: {}\n", failed.error.message);
  if (json) {
    trace::Json out;
    out.open('{').key("error").open('{');
    out.field("message", failed.error.message);
    out.field("exit", exit_meanings()[static_cast<std::size_t>(failed.exit)].name);
    out.field("exit_code", static_cast<int>(failed.exit)).close('}').close('}');
    fmt::print("{}\n", out.text());
  }
  return static_cast<int>(failed.exit);
}

int run(std::vector<std::string> arguments) {
  Invocation invocation;
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  CLI::App root("Graphs of triples: generate, load, query, walk.", "graph");
  root.footer(footer());
  root.require_subcommand(0, 1);
  add_generate(root, invocation);
  add_load(root, invocation);
  add_query(root, invocation);
  add_khop(root, invocation);
  add_bfs(root, invocation);
  add_components(root, invocation);
  add_pagerank(root, invocation);
  add_stats(root, invocation);
  add_compare(root, invocation);
  add_scaling(root, invocation);
  if (arguments.empty()) arguments.emplace_back("--help");
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    root.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);
    const auto parsed = root.get_subcommands();
    const std::string command = parsed.empty() ? "" : parsed.front()->get_name() + " ";
    const std::string message = fmt::format("{}; see `graph {}--help`", error.what(), command);
    return tell({Exit::usage, {ErrorCode::invalid_argument, message}}, json);
  }
  const Ended ended = invocation.command();
  if (!ended) return tell(ended.error(), invocation.json);
  if (std::fflush(stdout) != 0) {
    return tell({Exit::file, {ErrorCode::io, "writing to standard output failed"}}, false);
  }
  return 0;
}

}  // namespace
}  // namespace godwit::graph::cli

int main(int argc, char** argv) {
  try {
    return godwit::graph::cli::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::fputs("graph: out of memory; try a smaller graph\n", stderr);
    return static_cast<int>(godwit::graph::cli::Exit::too_large);
  }
}
