// Whole files in and out of memory.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/bytes.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// Errors: not_found, permission, io, too_large (more than `limit_bytes`), out_of_memory.
[[nodiscard]] Result<Buffer> read_file(const std::filesystem::path& path,
                                       std::uint64_t limit_bytes);
// Writes a temporary file beside `path` and renames it, so that a reader sees all or nothing. Any
// number of writers may race; one wins. On failure nothing is left behind. Errors: permission, io.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, Bytes bytes);

}  // namespace godwit::code
