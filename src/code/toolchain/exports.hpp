// The functions an object file exports: the records GODWIT_EXPORT leaves in it.
#pragma once

#include <vector>

#include "code/bundle/manifest.hpp"
#include "code/elf/elf_file.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// In the order of the records; empty if there are none. Errors: corrupt_code (a record lies about
// its lengths), bad_format (a name with forbidden characters). Signatures are not looked into.
[[nodiscard]] Result<std::vector<FunctionInfo>> read_exports(const ElfFile& file);

}  // namespace godwit::code
