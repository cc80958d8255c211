#include "setting_flags.hpp"

#include <fmt/format.h>

namespace godwit::cli {

SettingFlags::SettingFlags(CLI::App& command) {
  command.add_option("--config", file_, "A TOML file of settings [$GODWIT_CONFIG]")
      ->type_name("FILE");
  const auto settings = node::describe_settings();
  given_.reserve(settings.size());  // CLI11 keeps references to the texts
  for (const node::SettingDescription& setting : settings) {
    Given& given = given_.emplace_back(Given{setting, {}});
    CLI::Option* option = command
                              .add_option(setting.flag, given.texts,
                                          fmt::format("{} [{}]", setting.help, setting.standard))
                              ->type_name(std::string(setting.value))
                              ->allow_extra_args(false)
                              ->group("Settings");
    // Given twice, the last one holds: whoever starts nodes can append to what is there.
    if (!setting.is_list)
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

tl::expected<node::Configuration, Failed> SettingFlags::load() const {
  node::Configuration::Sources sources;
  sources.file = file_;
  for (const Given& given : given_) {
    if (given.texts.empty()) continue;
    sources.flags.emplace_back(given.setting.name, given.texts);
  }
  auto loaded = node::Configuration::load(sources);
  if (loaded) return *std::move(loaded);
  const bool unreadable =
      loaded.error().code == ErrorCode::not_found || loaded.error().code == ErrorCode::io;
  return tl::unexpected(
      Failed(unreadable ? Exit::bad_file : Exit::usage, std::move(loaded).error()));
}

}  // namespace godwit::cli
