// The commands, each in a file of its own (cmd_NAME.cpp), and what they share.
#pragma once

#include <functional>

#include "cli/exit.hpp"
#include "command_line/command_text.hpp"

namespace godwit::graph::cli {

// What the command line asks for: filled in while it is parsed, then run by main().
struct Invocation {
  std::function<Ended()> command = {};
  bool json = false;
};

using godwit::cli::add_command;
using godwit::cli::CommandText;
// The flag --json.
inline void add_json_flag(CLI::App& command, Invocation& invocation) {
  godwit::cli::add_json_flag(command, invocation.json);
}

void add_generate(CLI::App& root, Invocation& invocation);
void add_load(CLI::App& root, Invocation& invocation);
void add_query(CLI::App& root, Invocation& invocation);
void add_khop(CLI::App& root, Invocation& invocation);
void add_bfs(CLI::App& root, Invocation& invocation);
void add_components(CLI::App& root, Invocation& invocation);
void add_pagerank(CLI::App& root, Invocation& invocation);
void add_stats(CLI::App& root, Invocation& invocation);
void add_compare(CLI::App& root, Invocation& invocation);
void add_scaling(CLI::App& root, Invocation& invocation);

}  // namespace godwit::graph::cli
