// One source file, one machine: the clang command that makes an object or bitcode of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "code/bundle/target.hpp"
#include "code/toolchain/session.hpp"

namespace godwit::code {

struct Translation {
  std::filesystem::path source;
  std::filesystem::path output;
  Machine machine = Machine::none;
  SliceKind kind = SliceKind::none;
  bool with_foreign_headers = false;  // see ResolvedNeeds::has_stand_ins
  bool quiet = false;                 // another translation of the source shows the warnings
};

[[nodiscard]] bool is_c_source(const std::filesystem::path& source);
[[nodiscard]] bool is_cpp_source(const std::filesystem::path& source);

[[nodiscard]] Status translate(CompileSession& session, const Translation& translation);

// Options of every clang command that makes native code, of a source or of bitcode.
void append_native_options(std::vector<std::string>& argv, const CompileRequest& request);

// Options every clang command for that machine shares.
[[nodiscard]] std::vector<std::string> clang_for(const CompileSession& session, Machine machine,
                                                 bool cpp);

}  // namespace godwit::code
