// Where processes meet, and where they can be reached.
#pragma once

#include <string>
#include <string_view>

#include "fabric/address.hpp"
#include "godwit/error.hpp"
#include "godwit/kernel.hpp"

namespace godwit::forward {

// "shm:///path" or "tcp://host:port", also without the slashes; in a folder that exists, a place of
// its own. Errors: bad_address.
[[nodiscard]] Result<fabric::Address> parse_place(std::string_view text);

// The host under which processes at the place reach this one: for the process that listens there
// its own. Resolves names, so it may block. Errors: bad_address, unreachable.
[[nodiscard]] Result<std::string> local_host_for(const fabric::Address& place, bool listens_there);

// For this user alone. Errors: io.
[[nodiscard]] Result<std::string> make_private_folder();
void remove_folder(const std::string& folder);
// Removes the folder of a place like that, and the socket there of the rank that made it, who may
// have died; unless others are still there.
void forget_folder(std::string_view place, Rank maker);

}  // namespace godwit::forward
