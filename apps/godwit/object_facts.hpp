// What a home says of an object, for people and programs.
#pragma once

#include <string>

#include "godwit/fleet.hpp"
#include "godwit/object_status.hpp"
#include "trace/json.hpp"

namespace godwit::cli {

// "until evicted", "lease, 54.2 s left", "3 readers", "process"
[[nodiscard]] std::string lifetime_text(const ObjectStatus& object);
// "in memory, pinned", "promised", ...
[[nodiscard]] std::string state_text(const ObjectStatus& object);
// One JSON object.
void write_facts(trace::Json& out, const Fleet& fleet, const ObjectStatus& object);

}  // namespace godwit::cli
