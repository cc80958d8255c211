// A prepared module to a relocatable object.
#pragma once

#include <string>

#include <llvm/ADT/SmallVector.h>

#include "code/jit/host.hpp"
#include "code/jit/reader.hpp"
#include "code/library.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

using ObjectBytes = llvm::SmallVector<char, 0>;

// Consumes the module's content; the unit only remains to be destroyed. Errors: compile_failed.
[[nodiscard]] Result<ObjectBytes> compile(Unit& unit, Host& host, Tier tier,
                                          const std::string& name);

}  // namespace godwit::code::jit
