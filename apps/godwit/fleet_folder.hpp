// What `godwit up` remembers of the fleet it started: a folder with the nodes' sockets and logs,
// and a file that lists them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "exit.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "process.hpp"

namespace godwit::cli {

inline constexpr const char* kDefaultFleet = "default";

struct FleetNode {
  std::string name;
  ProcessId process;
  std::vector<std::string> addresses;  // empty until it serves
};

struct FleetState {
  std::string key_file;  // empty: none
  std::vector<FleetNode> nodes;

  [[nodiscard]] std::vector<ProcessId> processes() const;
  [[nodiscard]] bool any_running() const;
};

// The state of the fleet of that name, as it was last written. Needs no lock. Ends as unreachable
// if there is no such fleet, usage for a name that is no word, bad_file, permission.
[[nodiscard]] tl::expected<FleetState, Failed> read_fleet(const std::string& fleet);

// A fleet's folder, held by one process at a time.
class FleetFolder {
 public:
  // Makes the folder if it is missing. Ends as rejected if somebody else holds it, permission if it
  // is not this user's, usage for a name that is no word, bad_file.
  [[nodiscard]] static tl::expected<FleetFolder, Failed> open(const std::string& fleet);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path log_of(std::string_view node) const;
  // In one step: readers see the old state or the new.
  [[nodiscard]] Status write(const FleetState& state) const;
  // Removes everything in it, but not the folder.
  void clear() const;
  // Removes the folder, and those above it that are empty and ours.
  void remove() const;

 private:
  FleetFolder(std::filesystem::path path, fabric::Fd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  fabric::Fd lock_;
};

}  // namespace godwit::cli
