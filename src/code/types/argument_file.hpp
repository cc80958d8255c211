// An argument taken from a file: the memory of a bytes, span or list of plain elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "code/types/type.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

inline constexpr std::uint64_t kArgumentFileLimitBytes = std::uint64_t{4} << 30;

// The file's content, checked to be whole elements of `type`. Errors: not_found, io, too_large,
// invalid_argument.
[[nodiscard]] Result<std::vector<std::byte>> read_elements(const Type& type,
                                                           const std::string& path);

}  // namespace godwit::code
