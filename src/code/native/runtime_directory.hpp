// A process's private directory for files that live only as long as it does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "godwit/error.hpp"

namespace godwit::code {

// <base>/godwit-<pid>-<random>, mode 0700, locked while its owner lives. The kernel gives the lock
// up however the owner ends, so a later owner recognises what a killed one left, and removes it.
class RuntimeDirectory {
 public:
  // Whether the last owner takes the base away too. It is somebody else's unless we chose it.
  enum class EmptyBase : std::uint8_t { keep, remove };
  // Makes `base` too if it is missing, and purges what dead owners left there. Errors: permission
  // (also: no code may be run from there), io.
  [[nodiscard]] static Result<RuntimeDirectory> create(const std::filesystem::path& base,
                                                       EmptyBase then = EmptyBase::keep);
  RuntimeDirectory(RuntimeDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        lock_fd_(std::exchange(other.lock_fd_, -1)),
        then_(other.then_) {}
  RuntimeDirectory& operator=(RuntimeDirectory&&) = delete;
  // Removes the directory and all that is in it.
  ~RuntimeDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  RuntimeDirectory(std::filesystem::path path, int lock_fd, EmptyBase then)
      : path_(std::move(path)), lock_fd_(lock_fd), then_(then) {}
  std::filesystem::path path_;
  int lock_fd_ = -1;
  EmptyBase then_;
};

// $XDG_RUNTIME_DIR if code may be run from there, else the system's directory for temporary files.
[[nodiscard]] std::filesystem::path default_runtime_base();

}  // namespace godwit::code
