// The entry of the mobile ABI around a plain function: the counterpart, for code made at run time,
// of what GODWIT_EXPORT generates.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "code/types/type.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

// Adds "godwit_entry_<function>" to the module and gives its name; everything else becomes internal
// and what nothing uses is dropped. The entry checks the blob's bounds and alignment, and catches
// what the function throws. Errors: unknown_function, type_mismatch (names the parameter),
// invalid_argument (a type that cannot be passed this way).
[[nodiscard]] Result<std::string> add_entry(llvm::Module& module, const std::string& function,
                                            const Signature& signature);

}  // namespace godwit::code::jit
