#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "node/settings.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

void print_exit_codes(bool json) {
  trace::Json out;
  out.open('[');
  if (!json) fmt::print("What the exit code says:\n\n");
  for (const ExitMeaning& row : exit_meanings()) {
    const int code = static_cast<int>(row.exit);
    if (!json) fmt::print("  {:>3}  {:<18} {}\n", code, row.name, row.meaning);
    out.open('{').field("code", code).field("name", row.name).field("meaning", row.meaning);
    out.close('}');
  }
  if (json) fmt::print("{}\n", out.close(']').text());
}

void print_settings() {
  fmt::print(
      "Settings of a node. Each can be given, from weak to strong, in a TOML file (--config FILE "
      "or\n"
      "$GODWIT_CONFIG), in the environment, or as a flag of `godwit node`. `godwit config` shows\n"
      "the values here and where they come from.\n\n");
  for (const node::SettingDescription& setting : node::describe_settings()) {
    fmt::print("  {} {}   {}   {} = ...\n      {}.\n      Default: {}.\n", setting.flag,
               setting.value, setting.variable, setting.name, setting.help, setting.standard);
  }
}

const CLI::App* find_command(const CLI::App& root, const std::string& name) {
  const auto found =
      root.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

Ended help(const CLI::App& root, const std::string& topic, bool json) {
  if (topic.empty()) {
    // root.help() would speak of the command that was parsed, which is this one.
    fmt::print("{}", root.get_formatter()->make_help(&root, "godwit", CLI::AppFormatMode::Normal));
  } else if (topic == "exit-codes") {
    print_exit_codes(json);
  } else if (topic == "settings") {
    print_settings();
  } else if (const CLI::App* command = find_command(root, topic)) {
    fmt::print("{}", command->help());
  } else {
    return tl::unexpected(
        usage(fmt::format("there is no command or topic '{}'; `godwit help` lists the commands, "
                          "topics are exit-codes and settings",
                          topic)));
  }
  return {};
}

}  // namespace

void add_help(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "help",
                         .usage = "[COMMAND | exit-codes | settings]",
                         .summary = "Explain a command, the exit codes or the settings of a node",
                         .examples = "godwit help run\ngodwit help exit-codes"});
  const auto topic = std::make_shared<std::string>();
  command.add_option("TOPIC", *topic, "What to explain");
  add_json_flag(command, invocation);
  command.callback([&root, &invocation, topic] {
    invocation.command = [&root, &invocation, topic] {
      return help(root, *topic, invocation.json);
    };
  });
}

}  // namespace godwit::cli
