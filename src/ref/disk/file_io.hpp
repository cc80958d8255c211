// Reading and writing files of a folder, with errors that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/fail.hpp"
#include "fabric/fd.hpp"

namespace godwit::ref {

// What the last system call failed for: resource_exhausted (no place on the disk, or a limit on
// files), not_found, permission, else io.
[[nodiscard]] tl::unexpected<Error> disk_failure(const char* verb, const std::string& path);

// All of it, at that place of the file.
[[nodiscard]] Status write_at(const fabric::Fd& file, std::uint64_t offset, Bytes bytes,
                              const std::string& path);
// How many bytes there were, up to the end of the file.
[[nodiscard]] Result<std::size_t> read_at(const fabric::Fd& file, std::uint64_t offset,
                                          MutableBytes bytes, const std::string& path);

// A file that is written under another name, and gone again unless it gets its own.
class NewFile {
 public:
  // In the folder NAME lies in; `path` is for messages. For this user alone. Errors: those of
  // disk_failure().
  [[nodiscard]] static Result<NewFile> create(const fabric::Fd& folder, std::string name,
                                              std::uint64_t number, std::string path);
  // The name that a file left behind was to get; empty if it is none of these.
  [[nodiscard]] static std::string_view name_behind(std::string_view temporary);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] const fabric::Fd& file() const noexcept { return file_; }
  // Gives it its name, replacing what has it. `on_disk`: after this, a machine that loses power has
  // the file, whole.
  [[nodiscard]] Status finish(bool on_disk);

 private:
  NewFile(const fabric::Fd& folder, std::string name, std::string temporary, std::string path,
          fabric::Fd file)
      : folder_(folder),
        name_(std::move(name)),
        temporary_(std::move(temporary)),
        path_(std::move(path)),
        file_(std::move(file)) {}

  const fabric::Fd& folder_;
  std::string name_;
  std::string temporary_;  // empty: there is none any more
  std::string path_;
  fabric::Fd file_;
};

}  // namespace godwit::ref
