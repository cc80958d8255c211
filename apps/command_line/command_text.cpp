#include "command_line/command_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace godwit::cli {
namespace {

// Usage lines are written by hand: they say what goes together, which options alone do not.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  std::string usage_;
};

// The names from the program's down to the command's own.
std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

}  // namespace

CLI::App& add_command(CLI::App& parent, const CommandText& text) {
  CLI::App& command = *parent.add_subcommand(std::string(text.name), std::string(text.summary));
  command.formatter(
      std::make_shared<HelpFormatter>(fmt::format("Usage: {} {}\n", path_of(command), text.usage)));
  std::string footer(text.details);
  footer += text.details.empty() ? "Examples:" : "\n\nExamples:";
  for (std::string_view rest = text.examples; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    footer += fmt::format("\n  $ {}", line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  command.footer(footer);
  return command;
}

void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Say it in JSON, for programs");
}

}  // namespace godwit::cli
