// A file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::graph {

// Writes beside the target and renames at the end; whoever does not commit() leaves nothing.
// "-" is standard output, which gets the bytes as they come. One thread.
class OutputFile {
 public:
  static Result<OutputFile> create(std::string path);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::string_view bytes);
  template <class T>
  Status write_array(std::span<const T> items) {
    return write({reinterpret_cast<const char*>(items.data()), items.size_bytes()});
  }
  Status commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept;
  };
  OutputFile(std::string path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  [[nodiscard]] tl::unexpected<Error> failed(std::string_view doing) const;

  std::string path_;
  std::string temporary_;  // empty: standard output
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace godwit::graph
