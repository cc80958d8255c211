#include "node/settings.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/fail.hpp"
#include "node/settings/table.hpp"
#include "node/settings/toml_file.hpp"

namespace godwit::node {
namespace {

constexpr const char* kConfigVariable = "GODWIT_CONFIG";

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return items;
}

// Puts values into settings and remembers where each came from.
class Loading {
 public:
  Loading(Settings& settings, std::vector<SettingValue>& values)
      : settings_(settings), values_(values) {
    for (const Setting& setting : setting_table()) {
      values_.push_back({.name = setting.name,
                         .text = text_of(setting, settings_),
                         .source = SettingSource::standard,
                         .where = {}});
    }
  }

  // `shown` is the value as its author wrote it: "GODWIT_SPIN_US=abc".
  Status set(const Setting& setting, std::span<const std::string> texts, SettingSource source,
             std::string where, std::string_view shown) {
    if (const Status assigned = assign(setting, texts, settings_); !assigned) {
      return fail(ErrorCode::invalid_argument, "{}: {}", masked(setting, shown),
                  assigned.error().message);
    }
    SettingValue& value = values_[static_cast<std::size_t>(&setting - setting_table().data())];
    value.text = text_of(setting, settings_);
    value.source = source;
    value.where = std::move(where);
    return {};
  }

  Status read_file(const std::string& path) {
    GODWIT_TRY(const auto entries, read_toml_settings(path));
    for (const TomlSetting& entry : entries) {
      const std::string where = fmt::format("{}, line {}", path, entry.line);
      const Setting* setting = find_setting(entry.name);
      if (setting == nullptr) return unknown(where, entry.name);
      GODWIT_CHECK(
          set(*setting, entry.texts, SettingSource::file, where,
              fmt::format("{}: {} = {}", where, entry.name, fmt::join(entry.texts, ", "))));
    }
    return {};
  }

  // Only variables that name a setting are looked at: GODWIT_ is a prefix others use too.
  template <class Environment>
  Status read_environment(const Environment& environment) {
    for (const Setting& setting : setting_table()) {
      const std::string variable = setting.variable();
      const std::optional<std::string> text = environment(variable);
      if (!text || text->empty()) continue;
      const auto texts = setting.is_list() ? split_list(*text) : std::vector{*text};
      GODWIT_CHECK(set(setting, texts, SettingSource::environment, variable,
                       fmt::format("{}={}", variable, *text)));
    }
    return {};
  }

  Status read_flag(std::string_view name, std::span<const std::string> texts) {
    const Setting* setting = find_setting(name);
    if (setting == nullptr) return unknown("the command line", name);
    return set(*setting, texts, SettingSource::flag, setting->flag(),
               fmt::format("{} {}", setting->flag(), fmt::join(texts, " ")));
  }

 private:
  static Status unknown(std::string_view where, std::string_view name) {
    const std::string_view nearest = nearest_setting(name);
    if (!nearest.empty()) {
      return fail(ErrorCode::invalid_argument, "{}: there is no setting '{}'; did you mean '{}'?",
                  where, name, nearest);
    }
    return fail(ErrorCode::invalid_argument,
                "{}: there is no setting '{}'; `godwit config` lists them", where, name);
  }

  Settings& settings_;
  std::vector<SettingValue>& values_;
};

}  // namespace

std::string_view to_string(SettingSource source) noexcept {
  switch (source) {
    case SettingSource::standard: return "default";
    case SettingSource::file: return "file";
    case SettingSource::environment: return "environment";
    case SettingSource::flag: return "flag";
  }
  return "unknown";
}

std::vector<SettingDescription> describe_settings() {
  const Settings defaults;
  std::vector<SettingDescription> all;
  for (const Setting& setting : setting_table()) {
    all.push_back({.name = setting.name,
                   .flag = setting.flag(),
                   .variable = setting.variable(),
                   .value = setting.value,
                   .standard = setting.standard.empty() ? text_of(setting, defaults)
                                                        : std::string(setting.standard),
                   .help = setting.help,
                   .is_list = setting.is_list()});
  }
  return all;
}

Result<Configuration> Configuration::load(const Sources& sources) {
  const auto environment = sources.environment ? sources.environment : process_environment;
  Configuration configuration;
  Loading loading(configuration.settings_, configuration.values_);
  const std::string file =
      sources.file.empty() ? environment(kConfigVariable).value_or("") : sources.file;
  if (!file.empty()) GODWIT_CHECK(loading.read_file(file));
  GODWIT_CHECK(loading.read_environment(environment));
  for (const auto& [name, texts] : sources.flags) GODWIT_CHECK(loading.read_flag(name, texts));
  return configuration;
}

SettingSource Configuration::source_of(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const SettingValue& value) { return value.name == name; });
  return found == values_.end() ? SettingSource::standard : found->source;
}

}  // namespace godwit::node
