// From C and C++ sources to a bundle: what `godwit cc` does.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "code/bundle/bundle.hpp"
#include "code/bundle/target.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

struct CompileRequest {
  std::vector<std::filesystem::path> sources = {};  // .c is C; .cc .cpp .cxx are C++
  std::string name = {};                            // of the bundle; empty: the first source's stem
  std::vector<std::filesystem::path> include_dirs = {};
  std::vector<std::string> defines = {};  // NAME or NAME=VALUE
  std::vector<std::string> flags = {};    // further ones for clang, passed on as they are
  unsigned optimisation_level = 2;        // of native slices, 0 to 3
  std::string cpp_standard = "c++20";
  std::string c_standard = "c17";
  // Libraries the code needs on the target, as for -l ("z") or by soname ("libz.so.1").
  std::vector<std::string> needs = {};
  std::vector<Machine> targets = {Machine::x86_64, Machine::aarch64};
  std::vector<SliceKind> kinds = {SliceKind::native, SliceKind::bitcode};
  bool debug_info = false;           // line tables
  bool keep_temporaries = false;     // on_command tells where
  std::filesystem::path clang = {};  // empty: $GODWIT_CLANG, else clang++-19, else clang++
  // Told every command before it runs, and what clang says of code that compiles. Called from
  // several threads, one at a time.
  std::function<void(std::string_view)> on_command = {};
  std::function<void(std::string_view)> on_warning = {};
  std::chrono::milliseconds command_timeout = std::chrono::minutes(10);
  unsigned jobs = 2;  // commands at a time
};

// Blocks until all slices are made. The same sources and options give the same bundle, also from
// another directory. Errors: compile_failed with the compiler's words; invalid_argument (no source,
// no export, two exports of one name); not_found (a source, clang, Godwit's headers, a library);
// deadline; io.
[[nodiscard]] Result<Bundle> compile(const CompileRequest& request);

}  // namespace godwit::code
