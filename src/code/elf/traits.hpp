// What compiled code keeps and asks for, read off its ELF file.
#pragma once

#include <string>

#include "code/bundle/manifest.hpp"
#include "code/elf/elf_file.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// Of an object (ET_REL) or a shared object (ET_DYN) as clang and lld make them. Constants,
// vtables and exception tables are no state; a guard of a function-local static is. What cannot be
// told (a stripped file) counts as state. Errors: corrupt_code.
[[nodiscard]] Result<CodeTraits> traits_of(const ElfFile& file);

// Why the dynamic linker would keep the code after dlclose(), or may be unable to take it away
// safely (threads, thread-local destructors); empty: nothing speaks against unloading.
[[nodiscard]] Result<std::string> unload_obstacle(const ElfFile& file);

}  // namespace godwit::code
