// Commands of a program, with help that reads the same in all of them.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string_view>

namespace godwit::cli {

struct CommandText {
  std::string_view name;
  std::string_view usage;         // after the program's and the command's names
  std::string_view summary;       // one line
  std::string_view examples;      // lines, each a command
  std::string_view details = {};  // what else to know; lines of text
};
// A subcommand with that help. The app at the root has the program's name.
CLI::App& add_command(CLI::App& parent, const CommandText& text);

// The flag --json.
void add_json_flag(CLI::App& command, bool& json);

}  // namespace godwit::cli
