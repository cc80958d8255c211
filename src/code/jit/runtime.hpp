// The functions loaded code reaches in place of some of libc's and libstdc++'s, because their
// effect belongs to a library that can be unloaded.
#pragma once

#include <string_view>

namespace godwit::code::jit {

// The replacement for an import of that name, or null. All of them take the library's handle: the
// address of a variable that holds its Image*.
[[nodiscard]] void* runtime_symbol(std::string_view name);

}  // namespace godwit::code::jit
