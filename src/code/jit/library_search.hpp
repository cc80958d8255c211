// Where the dynamic linker would find a library, without loading it.
#pragma once

#include <string>

namespace godwit::code::jit {

// A path under which dlopen(name), called by this program, finds a library; empty if it would find
// none. `name` has no slash. What the linker knows by itself (LD_LIBRARY_PATH as it was at the
// program's start, RUNPATH, system directories) comes from the linker; the rest is in `cache`,
// which ldconfig writes. Costs a few system calls per directory.
[[nodiscard]] std::string find_library(const std::string& name,
                                       const std::string& cache = "/etc/ld.so.cache");

}  // namespace godwit::code::jit
