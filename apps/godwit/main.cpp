// godwit: the one executable. Everything it can do is a command; see `godwit help`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "command.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

constexpr const char* kFooter =
    "`godwit help COMMAND` explains a command, `godwit help exit-codes` what the exit code says.\n"
    "\n"
    "A first run:\n"
    "  $ godwit up 4\n"
    "  $ godwit run kernels.cpp norm '[3, 4]' --on n2\n"
    "  $ godwit down";

void add_commands(CLI::App& root, Invocation& invocation) {
  add_up(root, invocation);
  add_down(root, invocation);
  add_ls(root, invocation);
  add_status(root, invocation);
  add_cc(root, invocation);
  add_run(root, invocation);
  add_inspect(root, invocation);
  add_node(root, invocation);
  add_relay(root, invocation);
  add_ranks(root, invocation);
  add_config(root, invocation);
  add_key(root, invocation);
  add_region(root, invocation);
  add_put(root, invocation);
  add_get(root, invocation);
  add_stat(root, invocation);
  add_evict(root, invocation);
  add_objects(root, invocation);
  add_explain(root, invocation);
  add_spread(root, invocation);
  add_stream(root, invocation);
  add_info(root, invocation);
  add_bench(root, invocation);
  add_help(root, invocation);
}

int tell(const Failed& failed, bool json) {
  fmt::print(stderr, "godwit: {}\n", failed.error.message);
  if (json && !failed.in_output) {
    trace::Json out;
    out.open('{').key("error").open('{');
    out.field("code", to_string(failed.error.code));
    out.field("message", failed.error.message);
    out.field("exit", to_string(failed.exit));
    out.field("exit_code", static_cast<int>(failed.exit));
    out.close('}').close('}');
    fmt::print("{}\n", out.text());
  }
  return static_cast<int>(failed.exit);
}

int run(std::vector<std::string> arguments) {
  Invocation invocation;
  // Words after "--" belong to somebody else: the compiler, a node, a function.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) invocation.words.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();

  CLI::App root("Moves compute and data through a cluster at the speed of its network.", "godwit");
  root.set_version_flag("--version,-V", "godwit " GODWIT_VERSION);
  root.footer(kFooter);
  root.require_subcommand(0, 1);
  add_commands(root, invocation);
  if (arguments.empty()) arguments.emplace_back("--help");
  const std::string first = arguments.front();
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    root.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);
    const auto parsed = root.get_subcommands();
    if (parsed.empty() && !first.starts_with('-')) {
      return tell(usage(fmt::format("there is no command '{}'; `godwit help` lists them", first)),
                  json);
    }
    return tell(usage(fmt::format("{}; see `godwit help{}`", error.what(),
                                  parsed.empty() ? "" : " " + parsed.front()->get_name())),
                json);
  }
  if (!invocation.command) return tell(usage("no command; see `godwit help`"), json);
  if (!invocation.words.empty() && !invocation.takes_words) {
    return tell(usage(fmt::format("nothing is expected after --, but there is '{}'",
                                  invocation.words.front())),
                json);
  }
  const Ended ended = invocation.command();
  return ended ? 0 : tell(ended.error(), invocation.json);
}

}  // namespace
}  // namespace godwit::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer or a reader that goes away is an error, not the end
  return godwit::cli::run({argv + 1, argv + argc});
}
