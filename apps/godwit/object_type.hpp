// Types of objects: chosen by people, known by hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "code/types/type.hpp"
#include "godwit/error.hpp"

namespace godwit::cli {

// A type that an object can have. Error: invalid_argument.
[[nodiscard]] Result<code::Type> object_type(std::string_view text);
// Whether so many bytes can be one. Error: invalid_argument.
[[nodiscard]] Status check_size(const code::Type& type, std::uint64_t bytes);
// Its name if it is a usual one, else the hash in hexadecimal.
[[nodiscard]] std::string type_name_of(std::uint64_t hash);

}  // namespace godwit::cli
