// The commands, each in a file of its own (cmd_NAME.cpp), and what they share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line/command_text.hpp"
#include "exit.hpp"

namespace godwit::cli {

// What the command line asks for: filled in while it is parsed, then run by main().
struct Invocation {
  std::function<Ended()> command = {};
  bool json = false;               // for programs: one JSON value on standard output
  std::vector<std::string> words;  // after "--", as they are
  bool takes_words = false;        // the command makes use of them
};

// The flag --json.
inline void add_json_flag(CLI::App& command, Invocation& invocation) {
  godwit::cli::add_json_flag(command, invocation.json);
}

void add_node(CLI::App& root, Invocation& invocation);
void add_relay(CLI::App& root, Invocation& invocation);
void add_ranks(CLI::App& root, Invocation& invocation);
void add_config(CLI::App& root, Invocation& invocation);
void add_up(CLI::App& root, Invocation& invocation);
void add_down(CLI::App& root, Invocation& invocation);
void add_ls(CLI::App& root, Invocation& invocation);
void add_status(CLI::App& root, Invocation& invocation);
void add_cc(CLI::App& root, Invocation& invocation);
void add_inspect(CLI::App& root, Invocation& invocation);
void add_run(CLI::App& root, Invocation& invocation);
void add_info(CLI::App& root, Invocation& invocation);
void add_key(CLI::App& root, Invocation& invocation);
void add_region(CLI::App& root, Invocation& invocation);
void add_put(CLI::App& root, Invocation& invocation);
void add_get(CLI::App& root, Invocation& invocation);
void add_stat(CLI::App& root, Invocation& invocation);
void add_evict(CLI::App& root, Invocation& invocation);
void add_objects(CLI::App& root, Invocation& invocation);
void add_explain(CLI::App& root, Invocation& invocation);
void add_spread(CLI::App& root, Invocation& invocation);
void add_stream(CLI::App& root, Invocation& invocation);
void add_bench(CLI::App& root, Invocation& invocation);
void add_help(CLI::App& root, Invocation& invocation);

}  // namespace godwit::cli
