#include "fleet_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/fail.hpp"
#include "node/places.hpp"

namespace godwit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "fleet.toml";

Ended check_name(const std::string& fleet) {
  const bool word = !fleet.empty() && fleet.size() <= 64 && fleet.front() != '.' &&
                    std::all_of(fleet.begin(), fleet.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (word) return {};
  return tl::unexpected(
      Failed(Exit::usage,
             {ErrorCode::invalid_argument,
              fmt::format(
                  "'{}' is no name for a fleet: it takes 1 to 64 letters, digits, '-', '_' and '.'",
                  fleet)}));
}

// The folders may lie where everybody can write: what somebody else put there is not ours to trust.
Status check_owner(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return fail(ErrorCode::io, "cannot look at '{}': {}", path.string(), errno_text(errno));
  }
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()) return {};
  return fail(ErrorCode::permission,
              "'{}' is not a directory of yours; set GODWIT_RUNTIME_DIR to one that is",
              path.string());
}

Status make_private(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(errno == EACCES ? ErrorCode::permission : ErrorCode::io, "cannot make '{}': {}",
                path.string(), errno_text(errno));
  }
  return check_owner(path);
}

toml::table to_toml(const FleetState& state) {
  toml::array nodes;
  for (const FleetNode& node : state.nodes) {
    toml::array addresses;
    for (const std::string& address : node.addresses) addresses.push_back(address);
    nodes.push_back(toml::table{
        {"name", node.name},
        {"pid", std::int64_t{node.process.pid}},
        {"start_ticks", static_cast<std::int64_t>(node.process.start_ticks)},
        {"addresses", std::move(addresses)},
    });
  }
  return toml::table{{"key_file", state.key_file}, {"nodes", std::move(nodes)}};
}

FleetState from_toml(const toml::table& table) {
  FleetState state;
  state.key_file = table["key_file"].value_or(std::string());
  const toml::array* nodes = table["nodes"].as_array();
  if (nodes == nullptr) return state;
  for (const toml::node& item : *nodes) {
    const toml::table* entry = item.as_table();
    if (entry == nullptr) continue;
    FleetNode node;
    node.name = (*entry)["name"].value_or(std::string());
    node.process.pid = static_cast<pid_t>((*entry)["pid"].value_or(std::int64_t{-1}));
    node.process.start_ticks =
        static_cast<std::uint64_t>((*entry)["start_ticks"].value_or(std::int64_t{0}));
    if (const toml::array* addresses = (*entry)["addresses"].as_array()) {
      for (const toml::node& address : *addresses) {
        node.addresses.push_back(address.value_or(std::string()));
      }
    }
    state.nodes.push_back(std::move(node));
  }
  return state;
}

}  // namespace

std::vector<ProcessId> FleetState::processes() const {
  std::vector<ProcessId> all;
  for (const FleetNode& node : nodes) all.push_back(node.process);
  return all;
}

bool FleetState::any_running() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const FleetNode& node) { return is_running(node.process); });
}

tl::expected<FleetState, Failed> read_fleet(const std::string& fleet) {
  GODWIT_CHECK(check_name(fleet));
  const fs::path folder = node::fleet_directory(fleet);
  std::ifstream file(folder / kStateFile);
  if (!file) {
    const std::string name = fleet == kDefaultFleet ? "" : fmt::format(" named '{}'", fleet);
    return fail(ErrorCode::unreachable,
                "no local fleet{} is running; start one with `godwit up 4{}`, or name a node "
                "with --connect ADDRESS",
                name, fleet == kDefaultFleet ? "" : " --fleet " + fleet);
  }
  GODWIT_CHECK(check_owner(folder));
  try {
    return from_toml(toml::parse(file));
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::bad_format, "{} is damaged: {}; remove it and end its nodes by hand",
                (folder / kStateFile).string(), error.description());
  }
}

tl::expected<FleetFolder, Failed> FleetFolder::open(const std::string& fleet) {
  GODWIT_CHECK(check_name(fleet));
  const fs::path path = node::fleet_directory(fleet);
  // Whoever removes the folder holds the lock on a file nobody sees any more: then make it anew.
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::error_code error;
    fs::create_directories(path.parent_path().parent_path().parent_path(), error);
    GODWIT_CHECK(make_private(path.parent_path().parent_path()));
    GODWIT_CHECK(make_private(path.parent_path()));
    GODWIT_CHECK(make_private(path));
    fabric::Fd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!lock) continue;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(ErrorCode::overload,
                  "another `godwit up` or `godwit down` is at work on the fleet '{}'; try again "
                  "when it is done",
                  fleet);
    }
    struct stat held{};
    struct stat seen{};
    if (::fstat(lock.get(), &held) == 0 && ::lstat(path.c_str(), &seen) == 0 &&
        held.st_ino == seen.st_ino && held.st_dev == seen.st_dev) {
      return FleetFolder(path, std::move(lock));
    }
  }
  return fail(ErrorCode::io, "'{}' cannot be opened: it disappears again and again", path.string());
}

fs::path FleetFolder::log_of(std::string_view node) const {
  return path_ / (std::string(node) + ".log");
}

Status FleetFolder::write(const FleetState& state) const {
  const fs::path final_path = path_ / kStateFile;
  const fs::path new_path = path_ / (std::string(kStateFile) + ".new");
  std::ofstream file(new_path, std::ios::trunc);
  file << to_toml(state) << '\n';
  file.close();
  std::error_code error;
  if (!file.fail()) fs::rename(new_path, final_path, error);
  if (file.fail() || error) {
    return fail(ErrorCode::io, "cannot write '{}': {}", final_path.string(),
                error ? error.message() : "is the file system full?");
  }
  return {};
}

void FleetFolder::clear() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    fs::remove_all(entry.path(), ignored);
  }
}

void FleetFolder::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  fs::remove(path_.parent_path(), ignored);  // fails, as it should, where other fleets are
  // A directory the user named is the user's.
  if (std::getenv("GODWIT_RUNTIME_DIR") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
    fs::remove(path_.parent_path().parent_path(), ignored);
  }
}

}  // namespace godwit::cli
