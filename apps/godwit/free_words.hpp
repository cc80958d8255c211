// Values on the command line, as they are.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace godwit::cli {

// Everything CLI11 could not place in a command that allows extras, and what followed "--". Unlike
// a list option this leaves "[1, 2]" in one piece, and -3 a number. Fails if a word looks like an
// option.
[[nodiscard]] tl::expected<std::vector<std::string>, Failed> free_words(
    const CLI::App& command, const Invocation& invocation);

}  // namespace godwit::cli
