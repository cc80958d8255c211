// Where an object's bytes go: a file, or standard output.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::cli {

// A file appears, or is replaced, when everything is there: until then the bytes are in another
// beside it, which goes if finish() is not called. What is no regular file is written to at once.
class ObjectSink {
 public:
  // `-` is standard output. Errors: io, permission.
  [[nodiscard]] static Result<ObjectSink> open(const std::string& file);
  ObjectSink(ObjectSink&& other) noexcept = default;
  ObjectSink& operator=(ObjectSink&&) = delete;
  ~ObjectSink();

  // Errors: io.
  [[nodiscard]] Status write(Bytes bytes);
  [[nodiscard]] Status finish();

 private:
  ObjectSink(std::string file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  [[nodiscard]] int fd() const noexcept;

  std::string file_;
  std::string name_;   // for people
  std::string aside_;  // what is written until finish(), if that is another file
  fabric::Fd opened_;
};

}  // namespace godwit::cli
