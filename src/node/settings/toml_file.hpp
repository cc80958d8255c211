// A TOML file of settings, as names and texts.
#pragma once

#include <string>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::node {

inline constexpr std::size_t kMaxSettingsFileBytes = std::size_t{1} << 20;

struct TomlSetting {
  std::string name;
  std::vector<std::string> texts;  // one, or an array's items
  unsigned line = 0;
};

// The file's top-level keys in the order of their lines. Errors: not_found, io, bad_format (syntax,
// a table or a date where a value is expected); each names the file.
[[nodiscard]] Result<std::vector<TomlSetting>> read_toml_settings(const std::string& path);

}  // namespace godwit::node
