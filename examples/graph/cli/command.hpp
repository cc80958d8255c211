// The commands, each in a file of its own (cmd_NAME.cpp), and what they share.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>
#include <string_view>

#include "cli/exit.hpp"

namespace godwit::graph::cli {

// What the command line asks for: filled in while it is parsed, then run by main().
struct Invocation {
  std::function<Ended()> command = {};
  bool json = false;
};

struct CommandText {
  std::string_view name;
  std::string_view usage;         // after the command's name
  std::string_view summary;       // one line
  std::string_view examples;      // lines, each a command
  std::string_view details = {};  // what else to know; lines of text
};
// A subcommand with that help.
CLI::App& add_command(CLI::App& parent, const CommandText& text);
// The flag --json.
void add_json_flag(CLI::App& command, Invocation& invocation);

void add_generate(CLI::App& root, Invocation& invocation);
void add_load(CLI::App& root, Invocation& invocation);
void add_query(CLI::App& root, Invocation& invocation);
void add_khop(CLI::App& root, Invocation& invocation);
void add_bfs(CLI::App& root, Invocation& invocation);
void add_components(CLI::App& root, Invocation& invocation);
void add_pagerank(CLI::App& root, Invocation& invocation);
void add_stats(CLI::App& root, Invocation& invocation);
void add_compare(CLI::App& root, Invocation& invocation);

}  // namespace godwit::graph::cli
