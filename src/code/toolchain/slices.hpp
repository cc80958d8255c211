// From translated sources to the bytes of a slice.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "code/bundle/manifest.hpp"
#include "code/toolchain/needs.hpp"
#include "code/toolchain/session.hpp"

namespace godwit::code {

struct SliceInputs {
  Machine machine = Machine::none;
  bool cpp = true;
  std::vector<std::filesystem::path> objects;
  std::vector<std::filesystem::path> bitcode;
  std::vector<std::string> entries;  // symbols that stay visible
  ResolvedNeeds needs;
};

struct MadeSlice {
  SliceInfo info;
  Buffer bytes;
};

// A shared object of the objects.
[[nodiscard]] Result<MadeSlice> make_native_slice(CompileSession& session,
                                                  const SliceInputs& inputs);
// One module of the bitcode files, with nothing in it that the entries do not reach. Functions keep
// the "target-cpu" and "target-features" that clang gave them: whoever compiles the module for a
// particular CPU removes them first.
[[nodiscard]] Result<MadeSlice> make_bitcode_slice(CompileSession& session,
                                                   const SliceInputs& inputs);

}  // namespace godwit::code
