// JSON text, as far as logs and traces need it.
#pragma once

#include <string>
#include <string_view>

namespace godwit::trace {

// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so the
// output is valid JSON whatever the input: names and messages come from other nodes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace godwit::trace
