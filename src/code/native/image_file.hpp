// The file behind loaded code: dlopen() takes names, not bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "code/native/runtime_directory.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// <directory>/<name>-<slice>-<number>.so, so that debuggers and profilers show whose code it is and
// find its symbols; without a directory, or if it is full, anonymous memory of that name. The
// number never repeats in a process: glibc takes a name it has seen for the object it has loaded.
class ImageFile {
 public:
  // Errors: out_of_memory, io.
  [[nodiscard]] static Result<ImageFile> create(std::shared_ptr<const RuntimeDirectory> directory,
                                                std::string_view name, const ContentId& slice,
                                                Bytes bytes);
  ImageFile(ImageFile&& other) noexcept;
  ImageFile& operator=(ImageFile&&) = delete;
  // The file is gone; memory that maps it stays valid.
  ~ImageFile();

  // To be given to dlopen() while this object lives.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  ImageFile() = default;
  std::shared_ptr<const RuntimeDirectory> directory_;  // null: anonymous memory
  std::string path_;
  int fd_ = -1;  // of the anonymous memory; open as long as its /proc name must mean this
};

}  // namespace godwit::code
