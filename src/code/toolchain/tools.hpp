// Finds the programs and headers that compiling needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "code/toolchain/compile.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

struct Tools {
  std::string clang;  // drives C and C++ alike, told by --driver-mode
  std::string llvm_link;
  std::string opt;
  std::string version;  // "19.1.7"
  std::uint16_t llvm_major = 0;
  std::filesystem::path include_dir;  // holds godwit/mobile.hpp

  // "clang 19.1.7"
  [[nodiscard]] std::string producer() const { return "clang " + version; }
};

// Errors: not_found, saying what was looked for, where, and how to name it.
[[nodiscard]] Result<Tools> find_tools(const CompileRequest& request);

}  // namespace godwit::code
