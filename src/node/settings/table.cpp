#include "node/settings/table.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "fabric/address.hpp"
#include "godwit/channel.hpp"
#include "ref/channel/channel_set.hpp"

namespace godwit::node {
namespace {

constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 40;

Status check_address(std::string_view text) {
  const auto address = fabric::Address::parse(text);
  if (!address) return fail(ErrorCode::invalid_argument, "{}", address.error().message);
  if (address->scheme == fabric::Address::Scheme::sim) {
    return fail(ErrorCode::invalid_argument, "a simulated address means nothing to a real node");
  }
  return {};
}

Status check_relay(std::string_view text) {
  const auto address = fabric::Address::parse(fmt::format("relay:{}", text));
  if (address && address->index == 0 && address->port != 0) return {};
  return fail(ErrorCode::invalid_argument, "expected a relay's HOST:PORT");
}

Status check_id(std::string_view text) {
  if (const auto id = from_hex(text); text.size() == 16 && id && *id != 0) return {};
  return fail(ErrorCode::invalid_argument, "expected 16 hexadecimal digits, not all zero");
}

// Names become file names and appear in messages.
Status check_name(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 64 && text.front() != '.' &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (good) return {};
  return fail(ErrorCode::invalid_argument,
              "expected 1 to 64 letters, digits, '-', '_' and '.', not starting with '.'");
}

Status check_channel(std::string_view text) {
  GODWIT_CHECK(ChannelOptions::parse(text));
  return {};
}

constexpr Setting kTable[] = {
    {.name = "name",
     .member = &Settings::name,
     .value = "NAME",
     .help = "What people call this node",
     .standard = "the host's name",
     .check = check_name},
    {.name = "id",
     .member = &Settings::id,
     .value = "HEX",
     .help = "Identity of this node, 16 hexadecimal digits; keep it to be recognised after a "
             "restart",
     .standard = "random",
     .check = check_id},
    {.name = "listen",
     .member = &Settings::listen,
     .value = "ADDRESS",
     .help =
         "Where to accept links, the preferred address first: shm:PATH, or tcp:HOST:PORT (port 0 "
         "picks one)",
     .standard = "a Unix socket in the runtime directory",
     .check = check_address},
    {.name = "join",
     .member = &Settings::join,
     .value = "ADDRESS",
     .help = "Nodes of the fleet to join",
     .standard = "none: the first of a fleet",
     .check = check_address},
    {.name = "relay",
     .member = &Settings::relay,
     .value = "HOST:PORT",
     .help = "A relay (`godwit relay`) to enrol at: nodes and clients that cannot reach this one "
             "directly do so through it; needs a key",
     .standard = "none: reached directly or not at all",
     .check = check_relay},
    {.name = "key_file",
     .member = &Settings::key_file,
     .value = "FILE",
     .help = "The fleet's key (`godwit key new`); both sides of every link must hold it",
     .standard = "none: this host only"},
    {.name = "spin_us",
     .member = &Settings::spin_us,
     .value = "MICROSECONDS",
     .help = "Polls for so long after the last event before it sleeps; more is faster answers for "
             "more CPU",
     .least = 0,
     .most = 3'600'000'000},
    {.name = "workers",
     .member = &Settings::workers,
     .value = "COUNT",
     .help = "Functions that run at the same time; 0: one per core",
     .least = 0,
     .most = 4096},
    {.name = "max_blocked",
     .member = &Settings::max_blocked,
     .value = "COUNT",
     .help = "Functions that may wait for other calls at the same time, beyond the workers",
     .least = 1,
     .most = 65536},
    {.name = "credits",
     .member = &Settings::credits,
     .value = "COUNT",
     .help = "Calls one peer may have outstanding here",
     .least = 1,
     .most = 65536},
    {.name = "idle_link_s",
     .member = &Settings::idle_link_s,
     .value = "SECONDS",
     .help = "Ends a link on which nothing was said for so long; the next call makes it anew; 0: "
             "never",
     .least = 0,
     .most = 86'400},
    {.name = "tcp_connections",
     .member = &Settings::tcp_connections,
     .value = "COUNT",
     .help = "Connections that large objects are spread over between two hosts, if both sides want "
             "so many; 1: one for everything",
     .least = 1,
     .most = 16},
    {.name = "code_budget_mb",
     .member = &Settings::code_budget_mb,
     .value = "MEBIBYTES",
     .help =
         "Memory for bundles and loaded code; beyond it the least recently used code is evicted",
     .least = 1,
     .most = kMaxMebibytes},
    {.name = "inbound_budget_mb",
     .member = &Settings::inbound_budget_mb,
     .value = "MEBIBYTES",
     .help = "Memory for arguments and results that are arriving; what is larger is refused",
     .least = 1,
     .most = kMaxMebibytes},
    {.name = "object_budget_mb",
     .member = &Settings::object_budget_mb,
     .value = "MEBIBYTES",
     .help = "Memory for the objects that this node is the home of; beyond it they go to "
             "object_dir, or none is taken; 0: a quarter of the machine's",
     .least = 0,
     .most = kMaxMebibytes},
    {.name = "object_dir",
     .member = &Settings::object_dir,
     .value = "DIRECTORY",
     .help =
         "This node's own: where it keeps objects that are to outlive it, and those that memory "
         "has no room for",
     .standard = "none: memory is all there is"},
    {.name = "object_disk_mb",
     .member = &Settings::object_disk_mb,
     .value = "MEBIBYTES",
     .help = "Size of the files in object_dir; beyond it none is written; 0: half of the disk",
     .least = 0,
     .most = kMaxMebibytes},
    {.name = "channel",
     .member = &Settings::channel,
     .value = "CHANNEL",
     .help = "Where else objects may keep their bytes: 'NAME URL [min_size=64k] [max_size=1g] "
             "[hosts=a*|b*] [tags=x|y] [priority=5]'; docs/channels.md",
     .standard = "none: memory is all there is",
     .check = check_channel,
     .mask = ref::without_password},
    {.name = "channel_plugins",
     .member = &Settings::channel_plugins,
     .value = "FILE",
     .help = "Libraries with further kinds of channels, loaded at start",
     .standard = "none"},
    {.name = "region_budget_mb",
     .member = &Settings::region_budget_mb,
     .value = "MEBIBYTES",
     .help =
         "Memory for this node's shards of regions; beyond it none is made or grows; 0: half of "
         "the machine's",
     .least = 0,
     .most = kMaxMebibytes},
    {.name = "region_dir",
     .member = &Settings::region_dir,
     .value = "DIRECTORY",
     .help = "Where this node keeps shards of regions that lie in files, and finds them again",
     .standard = "none: it keeps none"},
    {.name = "max_hops",
     .member = &Settings::max_hops,
     .value = "COUNT",
     .help = "How often one call may travel on before it is stopped",
     .least = 1,
     .most = 1'000'000'000},
    {.name = "max_fan_out",
     .member = &Settings::max_fan_out,
     .value = "COUNT",
     .help = "Calls one running function may have outstanding",
     .least = 1,
     .most = 1'000'000},
    {.name = "jit",
     .member = &Settings::jit,
     .value = "WHEN",
     .help = "When to load the compiler: auto (at the first bitcode), preload (at start) or off",
     .choices = "auto|preload|off"},
    {.name = "cache_dir",
     .member = &Settings::cache_dir,
     .value = "DIRECTORY",
     .help = "Where compiled objects are kept between runs",
     .standard = "$XDG_CACHE_HOME/godwit or ~/.cache/godwit"},
    {.name = "cache_limit_mb",
     .member = &Settings::cache_limit_mb,
     .value = "MEBIBYTES",
     .help = "Size of that cache; beyond it the least recently used objects are deleted",
     .least = 1,
     .most = kMaxMebibytes},
    {.name = "runtime_dir",
     .member = &Settings::runtime_dir,
     .value = "DIRECTORY",
     .help = "Where sockets and loaded code live while the node does",
     .standard = "a directory of this user's in $XDG_RUNTIME_DIR or the temporary directory"},
    {.name = "log_level",
     .member = &Settings::log_level,
     .value = "LEVEL",
     .help = "What to log: debug, info, warn, error or off",
     .choices = "debug|info|warn|error|off"},
    {.name = "log_format",
     .member = &Settings::log_format,
     .value = "FORMAT",
     .help = "How to log: text, or json (one object a line)",
     .choices = "text|json"},
    {.name = "log_file",
     .member = &Settings::log_file,
     .value = "FILE",
     .help = "Where to log; rotated at 64 MiB",
     .standard = "standard error"},
    {.name = "parent_pid",
     .member = &Settings::parent_pid,
     .value = "PID",
     .help = "Ends when this process, its parent, does; 0: lives on its own",
     .least = 0,
     .most = 0x7fffffff},
};

// Changes, insertions and deletions that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Setting> setting_table() {
  return kTable;
}

std::string Setting::flag() const {
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Setting::variable() const {
  std::string text = "GODWIT_";
  for (const char c : name) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

const Setting* find_setting(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                   [&](const Setting& setting) { return setting.name == name; });
  return found == std::end(kTable) ? nullptr : found;
}

std::string_view nearest_setting(std::string_view name) {
  constexpr std::size_t kNameLimit = 64;  // keeps a hostile file's key from costing much
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  if (name.size() > kNameLimit) return {};
  for (const Setting& setting : kTable) {
    const std::size_t distance = edit_distance(name, setting.name);
    if (distance < least) {
      least = distance;
      nearest = setting.name;
    }
  }
  return nearest;
}

}  // namespace godwit::node
