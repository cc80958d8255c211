// What is to become an object: a file, or what comes through a pipe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::cli {

// The bytes stay where they are until this goes. A file is mapped: its pages are the system's own,
// and go when memory is short. One at a time: if a mapped file becomes shorter, or its disk fails,
// the process says so and ends as bad_file.
class ObjectSource {
 public:
  // All that comes through a pipe is in memory at once.
  static constexpr std::uint64_t kMostFromPipe = std::uint64_t{4} << 30;

  // `-` is standard input. Errors: not_found, permission, io, too_large, out_of_memory, cancelled.
  [[nodiscard]] static Result<ObjectSource> open(const std::string& file);

  // One after another.
  [[nodiscard]] std::span<const Bytes> parts() const noexcept { return parts_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  ObjectSource() = default;
  [[nodiscard]] Status map(int fd, std::uint64_t size, const std::string& name);
  [[nodiscard]] Status read(int fd, const std::string& name);

  fabric::Mapping file_;
  std::vector<Buffer> chunks_;
  std::vector<Bytes> parts_;
  std::uint64_t size_ = 0;
};

}  // namespace godwit::cli
