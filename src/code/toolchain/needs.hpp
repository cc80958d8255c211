// The libraries mobile code needs on its target, as the linker and the manifest want them.
#pragma once

#include <string>
#include <vector>

#include "code/bundle/target.hpp"
#include "code/toolchain/session.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

struct ResolvedNeeds {
  std::vector<std::string> link_arguments;
  std::vector<std::string> sonames;
  // Some library is not installed here for that machine, and an empty one stands in for it: the
  // linker cannot check that the library defines what the code uses.
  bool has_stand_ins = false;
};

// Looks each need up for that machine. One that is not installed for it gets its soname from the
// same library for another machine, or names it itself ("libz.so.1"). Errors: not_found.
[[nodiscard]] Result<ResolvedNeeds> resolve_needs(CompileSession& session, Machine machine);

}  // namespace godwit::code
