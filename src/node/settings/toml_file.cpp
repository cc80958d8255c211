#include "node/settings/toml_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/fail.hpp"

namespace godwit::node {
namespace {

Result<std::string> read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io,
                "cannot read the settings in '{}': {}", path, errno_text(errno));
  }
  std::string text(kMaxSettingsFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorCode::io, "cannot read the settings in '{}'", path);
  }
  if (text.size() > kMaxSettingsFileBytes) {
    return fail(ErrorCode::bad_format, "'{}' is no file of settings: it has more than {} bytes",
                path, kMaxSettingsFileBytes);
  }
  return text;
}

Result<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return std::string(truth->get() ? "true" : "false");
  return fail(ErrorCode::bad_format, "expected text, a number or an array of them");
}

Result<TomlSetting> setting_of(std::string_view name, const toml::node& node) {
  TomlSetting setting{.name = std::string(name), .texts = {}, .line = node.source().begin.line};
  if (const auto* array = node.as_array()) {
    for (const toml::node& item : *array) {
      GODWIT_TRY(std::string text, text_of(item));
      setting.texts.push_back(std::move(text));
    }
    return setting;
  }
  GODWIT_TRY(std::string text, text_of(node));
  setting.texts.push_back(std::move(text));
  return setting;
}

Result<toml::table> parse(const std::string& text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::bad_format, "{}, line {}: {}", path, error.source().begin.line,
                error.description());
  }
}

}  // namespace

Result<std::vector<TomlSetting>> read_toml_settings(const std::string& path) {
  GODWIT_TRY(const std::string text, read_text(path));
  GODWIT_TRY(const toml::table table, parse(text, path));
  std::vector<TomlSetting> settings;
  for (const auto& [key, node] : table) {
    auto setting = setting_of(key.str(), node);
    if (!setting) {
      return fail(setting.error().code, "{}, line {}: {}: {}", path, node.source().begin.line,
                  key.str(), setting.error().message);
    }
    settings.push_back(*std::move(setting));
  }
  std::sort(settings.begin(), settings.end(),
            [](const TomlSetting& a, const TomlSetting& b) { return a.line < b.line; });
  return settings;
}

}  // namespace godwit::node
