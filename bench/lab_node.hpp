// Nodes on the hosts of a lab, and what they need there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "netlab/lab.hpp"

namespace godwit::bench {

// A folder that goes away.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool exists() const { return !path_.empty(); }

 private:
  std::filesystem::path path_;
};

// The running executable, and godwit beside it.
[[nodiscard]] std::string own_program();
[[nodiscard]] std::string godwit_program();
[[nodiscard]] std::string node_address(const netlab::Lab& lab, std::uint32_t host);

// A key for the fleet, as `key` in the folder.
[[nodiscard]] Status make_key(const netlab::Lab& lab, const Folder& folder);
// A node of that key, which joins host 1's if it is another; waits until it serves. Its log is in
// the folder.
[[nodiscard]] Result<netlab::Process> start_node(const netlab::Lab& lab, const Folder& folder,
                                                 std::uint32_t host,
                                                 const std::vector<std::string>& more = {});

}  // namespace godwit::bench
