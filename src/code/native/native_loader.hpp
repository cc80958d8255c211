// Loads native slices with the system's dynamic linker.
#pragma once

#include <memory>

#include "code/library.hpp"
#include "code/native/runtime_directory.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// Code is mapped from files in the runtime directory, which shows its name to debuggers; a null
// directory makes it use anonymous memory. Symbols of one library are invisible to all others.
//
// A library that can start threads, or has thread-local objects with destructors, is pinned for
// good: nothing tells when the last of them is gone.
//
// Thread-safe. Libraries may outlive the loader; they share the directory.
class NativeLoader final : public Loader {
 public:
  explicit NativeLoader(std::shared_ptr<const RuntimeDirectory> directory)
      : directory_(std::move(directory)) {}

  // Besides Loader's errors: corrupt_code for code that wants memory both writable and executable.
  [[nodiscard]] Result<std::unique_ptr<Library>> load(const LoadRequest& request) override;

 private:
  const std::shared_ptr<const RuntimeDirectory> directory_;
};

}  // namespace godwit::code
