// A process's private directory for files that live only as long as it does.
#pragma once

#include <filesystem>
#include <utility>

#include "godwit/error.hpp"

namespace godwit::code {

// <base>/godwit-<pid>-<random>, mode 0700, locked while its owner lives. The kernel gives the lock
// up however the owner ends, so a later owner recognises what a killed one left, and removes it.
class RuntimeDirectory {
 public:
  // Makes `base` too if it is missing, and purges what dead owners left there. Errors: permission
  // (also: no code may be run from there), io.
  [[nodiscard]] static Result<RuntimeDirectory> create(const std::filesystem::path& base);
  RuntimeDirectory(RuntimeDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_fd_(std::exchange(other.lock_fd_, -1)) {}
  RuntimeDirectory& operator=(RuntimeDirectory&&) = delete;
  // Removes the directory and all that is in it.
  ~RuntimeDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  RuntimeDirectory(std::filesystem::path path, int lock_fd)
      : path_(std::move(path)), lock_fd_(lock_fd) {}
  std::filesystem::path path_;
  int lock_fd_ = -1;
};

// $XDG_RUNTIME_DIR if code may be run from there, else the system's directory for temporary files.
[[nodiscard]] std::filesystem::path default_runtime_base();

}  // namespace godwit::code
