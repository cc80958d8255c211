// What loaded code may use of the process: the runtime's replacements, what the process has, and
// the shared libraries the bundle says it needs.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::code::jit {

// A thread-local variable of another library, found anew in every thread that asks.
struct ThreadLocalImport {
  void* library;  // a handle of dlopen, or RTLD_DEFAULT
  std::string name;
};

// One library's imports. Filled in while it is linked, by one thread; then immutable. Must live as
// long as the code does.
class Imports {
 public:
  // Opens the libraries, which stay open until this is destroyed. Error: missing_library.
  [[nodiscard]] Status open(const std::vector<std::string>& needs, const std::string& name);
  // The address an import of that name gets, or null.
  [[nodiscard]] void* resolve(const std::string& symbol);

 private:
  struct Closer {
    void operator()(void* handle) const;
  };

  [[nodiscard]] void* search(const std::string& symbol, void*& library) const;

  std::vector<std::unique_ptr<void, Closer>> needs_;
  std::deque<ThreadLocalImport> thread_locals_;  // addresses are tokens: they must not move
};

}  // namespace godwit::code::jit
