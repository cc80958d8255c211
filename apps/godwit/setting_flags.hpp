// A node's settings as flags of a command.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <utility>
#include <vector>

#include "exit.hpp"
#include "node/settings.hpp"

namespace godwit::cli {

class SettingFlags {
 public:
  // Adds --config and one flag for each setting. This object outlives the parsing.
  explicit SettingFlags(CLI::App& command);
  SettingFlags(const SettingFlags&) = delete;
  SettingFlags& operator=(const SettingFlags&) = delete;

  // All sources together. Fails as Exit::usage, or bad_file if the file cannot be read.
  [[nodiscard]] tl::expected<node::Configuration, Failed> load() const;

 private:
  struct Given {
    node::SettingDescription setting;
    std::vector<std::string> texts;
  };
  std::string file_;
  std::vector<Given> given_;
};

}  // namespace godwit::cli
