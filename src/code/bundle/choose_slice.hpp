// Which slice of a bundle a target should get.
#pragma once

#include <string>

#include "code/bundle/bundle.hpp"
#include "code/bundle/target.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// The one of bundle.slices() that suits the target best: native code for its machine, else
// bitcode for its machine that its JIT can read. Error: no_slice, which names what the bundle
// offers and what the target is. The pointer is valid while a copy of the bundle lives.
[[nodiscard]] Result<const SliceInfo*> choose_slice(const Bundle& bundle, const TargetInfo& target);

// The bitcode that the target's JIT can read, held or not, or null.
[[nodiscard]] const SliceInfo* find_bitcode(const Bundle& bundle, const TargetInfo& target);

// "x86_64, JIT of LLVM 19" and "native x86_64, bitcode aarch64 (LLVM 19)", for messages.
[[nodiscard]] std::string describe(const TargetInfo& target);
[[nodiscard]] std::string describe_slices(const Bundle& bundle);

}  // namespace godwit::code
