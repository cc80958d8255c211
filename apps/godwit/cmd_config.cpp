#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "setting_flags.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

void print_text(const node::Configuration& configuration) {
  const auto settings = node::describe_settings();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const node::SettingDescription& setting = settings[i];
    const node::SettingValue& value = configuration.values()[i];
    const bool is_default = value.source == node::SettingSource::standard;
    const std::string shown =
        is_default ? fmt::format("{}  (default)", setting.standard)
                   : fmt::format("{}  ({} {}; default: {})", value.text, to_string(value.source),
                                 value.where, setting.standard);
    fmt::print("{:<18} = {}\n    {}.\n", setting.name, shown, setting.help);
  }
}

void print_json(const node::Configuration& configuration) {
  const auto settings = node::describe_settings();
  trace::Json out;
  out.open('{').key("settings").open('[');
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const node::SettingDescription& setting = settings[i];
    const node::SettingValue& value = configuration.values()[i];
    out.open('{');
    out.field("name", setting.name).field("value", value.text);
    out.field("default", setting.standard).field("source", to_string(value.source));
    out.field("where", value.where).field("flag", setting.flag);
    out.field("variable", setting.variable).field("help", setting.help);
    out.close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

Ended config(const SettingFlags& flags, bool json) {
  GODWIT_TRY(const node::Configuration configuration, flags.load());
  json ? print_json(configuration) : print_text(configuration);
  return {};
}

}  // namespace

void add_config(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root,
      {.name = "config",
       .usage = "[--config FILE] [SETTINGS] [--json]",
       .summary = "Show every setting of a node: value, default and where it came from",
       .examples = "godwit config --config node.toml\nGODWIT_SPIN_US=0 godwit config --json"});
  const auto flags = std::make_shared<SettingFlags>(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, flags] {
    invocation.command = [&invocation, flags] { return config(*flags, invocation.json); };
  });
}

}  // namespace godwit::cli
