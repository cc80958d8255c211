// A directory for intermediate files, gone with its owner.
#pragma once

#include <filesystem>
#include <utility>

#include "godwit/error.hpp"

namespace godwit::code {

class ScratchDirectory {
 public:
  // Below the system's directory for temporary files. Errors: io.
  [[nodiscard]] static Result<ScratchDirectory> create();
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  // Leaves the directory behind, for a person to look at.
  void keep() noexcept { keep_ = true; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  bool keep_ = false;
};

}  // namespace godwit::code
