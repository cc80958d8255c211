// What a node can be told, and where each value came from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::node {

// Every setting of a node, as a plain value. The table in settings/table.cpp gives each its name,
// its help and its limits; flags (--spin-us 50), environment (GODWIT_SPIN_US=50) and TOML
// (spin_us = 50) are three spellings of the same name.
struct Settings {
  std::string name;                   // default: the host's name
  std::string id;                     // 16 hex digits; default: random
  std::vector<std::string> listen;    // addresses; default: a Unix socket in the runtime directory
  std::vector<std::string> join;      // addresses of nodes of the fleet
  std::string relay;                  // HOST:PORT, where others reach this node too; default: none
  std::string key_file;               // the fleet's key; without one only loopback is allowed
  std::int64_t spin_us = 50;          // polls on for so long after the last event, then sleeps
  std::uint32_t workers = 0;          // functions run at the same time; 0: one per core
  std::uint32_t max_blocked = 256;    // functions that wait at the same time, beyond the workers
  std::uint32_t credits = 256;        // calls a peer may have outstanding on one link
  std::uint32_t idle_link_s = 60;     // a link unused for so long is ended; 0: never
  std::uint32_t tcp_connections = 4;  // of a link with much to send
  std::uint64_t code_budget_mb = 1024;       // bundles and loaded code together
  std::uint64_t inbound_budget_mb = 8192;    // arguments and results that are arriving
  std::uint64_t region_budget_mb = 0;        // memory of shards; 0: half of the machine's
  std::string region_dir;                    // shards in files; default: none
  std::uint64_t object_budget_mb = 0;        // memory of objects; 0: a quarter of the machine's
  std::string object_dir;                    // objects in files; default: none
  std::uint64_t object_disk_mb = 0;          // of those files; 0: half of the disk
  std::vector<std::string> channel;          // where else objects' bytes may be; default: nowhere
  std::vector<std::string> channel_plugins;  // libraries that know more kinds of them
  std::uint32_t max_hops = 100'000;
  std::uint32_t max_fan_out = 4096;
  std::string jit = "auto";  // auto: at the first bitcode; preload: at start; off
  std::string cache_dir;     // compiled objects; default: ~/.cache/godwit
  std::uint64_t cache_limit_mb = 1024;
  std::string runtime_dir;  // sockets and loaded code; default: $XDG_RUNTIME_DIR or /tmp
  std::string log_level = "info";
  std::string log_format = "text";
  std::string log_file;          // default: standard error
  std::uint64_t parent_pid = 0;  // ends when this process does; 0: on its own
};

// Where a value came from; a later one wins over an earlier one.
enum class SettingSource : std::uint8_t { standard, file, environment, flag };
// "default", "file", "environment", "flag"
[[nodiscard]] std::string_view to_string(SettingSource source) noexcept;

// What there is to know about a setting without loading any.
struct SettingDescription {
  std::string_view name;   // "spin_us", the key in TOML
  std::string flag;        // "--spin-us"
  std::string variable;    // "GODWIT_SPIN_US"
  std::string_view value;  // the kind of value: "MICROSECONDS"
  std::string standard;    // the default as text, or in words where it depends on the machine
  std::string_view help;
  bool is_list = false;  // flags may be repeated; a variable separates by commas
};
[[nodiscard]] std::vector<SettingDescription> describe_settings();

// One setting's value and where it came from.
struct SettingValue {
  std::string_view name;
  std::string text;  // as a flag would spell it; a list's items are separated by commas
  SettingSource source = SettingSource::standard;
  std::string where;  // "node.toml, line 3", "GODWIT_SPIN_US", "--spin-us"; empty for defaults
};

// The settings of one start: defaults, then a TOML file, then the environment, then flags.
class Configuration {
 public:
  struct Sources {
    // A TOML file; empty: the one $GODWIT_CONFIG names, if any.
    std::string file = {};
    // Flags by the setting's name, with the values in the order they were given.
    std::vector<std::pair<std::string, std::vector<std::string>>> flags = {};
    // Looks up a variable; empty: the process's environment.
    std::function<std::optional<std::string>(const std::string&)> environment = {};
  };

  // Errors: not_found and io for the file, bad_format for its syntax, invalid_argument for an
  // unknown name (with the nearest known one) or a bad value (naming where it stands).
  [[nodiscard]] static Result<Configuration> load(const Sources& sources);

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  // One for each of describe_settings(), in its order.
  [[nodiscard]] const std::vector<SettingValue>& values() const noexcept { return values_; }
  [[nodiscard]] SettingSource source_of(std::string_view name) const;

 private:
  Configuration() = default;
  Settings settings_;
  std::vector<SettingValue> values_;
};

}  // namespace godwit::node
