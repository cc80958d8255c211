// Where a benchmark's figures go.
#pragma once

#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::bench {

// That name in build/ of the current folder if there is one, else in the current folder.
[[nodiscard]] std::string default_file(std::string_view name);

// Replaces what is there. Errors: io; part of the text may be there then.
Status write_file(const std::string& path, std::string_view text);

}  // namespace godwit::bench
