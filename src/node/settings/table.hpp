// The settings as data: where each lives in Settings, and which values it takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "godwit/error.hpp"
#include "node/settings.hpp"

namespace godwit::node {

using SettingMember =
    std::variant<std::string Settings::*, std::vector<std::string> Settings::*,
                 std::int64_t Settings::*, std::uint32_t Settings::*, std::uint64_t Settings::*>;

// A check of one piece of text beyond what `least`, `most` and `choices` say.
using SettingCheck = Status (*)(std::string_view text);
// The text without what nobody is to read.
using SettingMask = std::string (*)(std::string_view text);

struct Setting {
  std::string_view name;
  SettingMember member;
  std::string_view value;  // what to call the value in help: "MICROSECONDS"
  std::string_view help;
  std::string_view standard = {};  // the default in words, where the machine decides it
  std::int64_t least = 0;          // numbers: the range
  std::int64_t most = 0;
  std::string_view choices = {};  // text: "auto|preload|off"
  SettingCheck check = nullptr;
  SettingMask mask = nullptr;

  [[nodiscard]] bool is_list() const noexcept { return member.index() == 1; }
  [[nodiscard]] std::string flag() const;      // --spin-us
  [[nodiscard]] std::string variable() const;  // GODWIT_SPIN_US
};

[[nodiscard]] std::span<const Setting> setting_table();
// Null if there is none.
[[nodiscard]] const Setting* find_setting(std::string_view name);
// The known name that takes the fewest changes to get to, or empty if none is near.
[[nodiscard]] std::string_view nearest_setting(std::string_view name);

// Sets the value from text, a list from several. Error: invalid_argument, saying what is wrong with
// the value; the caller adds where it stands.
[[nodiscard]] Status assign(const Setting& setting, std::span<const std::string> texts,
                            Settings& settings);
// As people may read it.
[[nodiscard]] std::string masked(const Setting& setting, std::string_view text);
// The value as text, as assign() would take it, but masked; a list's items separated by commas.
[[nodiscard]] std::string text_of(const Setting& setting, const Settings& settings);

}  // namespace godwit::node
