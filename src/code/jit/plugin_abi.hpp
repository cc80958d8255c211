// What the plug-in exports and the process looks for. Both sides are built from one tree: the
// number rises with every change of jit.hpp or library.hpp that moves anything.
#pragma once

#include <cstdint>

#include "code/jit/jit.hpp"

namespace godwit::code::jit {

inline constexpr std::uint32_t kPluginAbi = 2;
inline constexpr const char* kPluginFile = "libgodwit_jit.so";
inline constexpr const char* kPluginSymbol = "godwit_jit_plugin";

struct Plugin {
  std::uint32_t abi;
  std::uint32_t size;  // of this struct
  Result<std::unique_ptr<Jit>> (*create)(const JitOptions& options);
};

}  // namespace godwit::code::jit
