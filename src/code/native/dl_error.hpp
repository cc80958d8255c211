// What the dynamic linker's complaints mean.
#pragma once

#include <string_view>

#include "godwit/error.hpp"

namespace godwit::code {

// The error for code `name` that could not be loaded; `text` is dlerror()'s. missing_library,
// missing_symbol, out_of_memory, or corrupt_code if it is none of these.
[[nodiscard]] Error explain_dl_error(std::string_view name, std::string_view text);

}  // namespace godwit::code
