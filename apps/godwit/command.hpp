// The commands, each in a file of its own (cmd_NAME.cpp), and what they share.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exit.hpp"

namespace godwit::cli {

// What the command line asks for: filled in while it is parsed, then run by main().
struct Invocation {
  std::function<Ended()> command = {};
  bool json = false;               // for programs: one JSON value on standard output
  std::vector<std::string> words;  // after "--", as they are
  bool takes_words = false;        // the command makes use of them
};

struct CommandText {
  std::string_view name;
  std::string_view usage;         // after "godwit NAME"
  std::string_view summary;       // one line
  std::string_view examples;      // lines, each a command
  std::string_view details = {};  // what else to know; lines of text
};
// A subcommand with that help.
CLI::App& add_command(CLI::App& parent, const CommandText& text);
// The flag --json.
void add_json_flag(CLI::App& command, Invocation& invocation);

void add_node(CLI::App& root, Invocation& invocation);
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
void add_bench(CLI::App& root, Invocation& invocation);
void add_help(CLI::App& root, Invocation& invocation);

}  // namespace godwit::cli
