// Elements of a region as people write them, whatever their type.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "code/types/type.hpp"
#include "godwit/error.hpp"
#include "godwit/sharding.hpp"

namespace godwit::cli {

// A type of elements by its canonical string (docs/types.md). Errors: invalid_argument if it is no
// type, or one whose values do not travel as memory.
[[nodiscard]] Result<code::Type> element_type(std::string_view text);

// The memory of consecutive elements, one for each word. Errors: invalid_argument, naming the word.
[[nodiscard]] Result<Buffer> elements_of(const code::Type& type,
                                         std::span<const std::string> words);

// blocks, cyclic, cyclic:CHUNK or hashed. Errors: invalid_argument.
[[nodiscard]] Result<Sharding> sharding_named(std::string_view text);

}  // namespace godwit::cli
