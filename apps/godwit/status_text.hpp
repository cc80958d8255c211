// A node's status, for people.
#pragma once

#include <string>

#include "trace/json_value.hpp"

namespace godwit::cli {

// Lines of text; fields that a node of another version does not tell are left out or read as 0.
[[nodiscard]] std::string status_text(const trace::JsonValue& status);

}  // namespace godwit::cli
