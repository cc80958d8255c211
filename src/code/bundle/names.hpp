// Which names a bundle may carry. Names reach file names, dlopen, terminals and logs, so everything
// but printable ASCII is refused at the door.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::code {

// `what` says in the error message what the name is of. All refuse with bad_format.

// A bundle, a function or a shared library: 1 to kMaxNameBytes printable characters, no '/', not
// starting with '.' or a space.
[[nodiscard]] Status check_name(std::string_view what, std::string_view name);
// A linker symbol: 1 to kMaxSymbolBytes printable characters without spaces.
[[nodiscard]] Status check_symbol(std::string_view what, std::string_view symbol);
// Other one-line text: at most `limit_bytes` printable characters.
[[nodiscard]] Status check_text(std::string_view what, std::string_view text,
                                std::size_t limit_bytes);

// `text` as it can be shown in a message: cut to a line's length, other characters replaced.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace godwit::code
