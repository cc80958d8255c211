// Where a user's godwit processes keep what lives only as long as they do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "code/native/runtime_directory.hpp"
#include "godwit/error.hpp"

namespace godwit::node {

// $GODWIT_RUNTIME_DIR, else a directory of this user's in $XDG_RUNTIME_DIR or the system's
// directory for temporary files. Not created here.
[[nodiscard]] std::filesystem::path runtime_base();
// A directory for this process there, made now. The base goes with the last one in it, unless the
// user named it.
[[nodiscard]] Result<code::RuntimeDirectory> make_runtime_directory();
// Of the fleet that `godwit up` starts under that name: <runtime base>/fleets/<name>.
[[nodiscard]] std::filesystem::path fleet_directory(std::string_view fleet = "default");
// "shm:<directory>/<node>.sock"; every node of a local fleet listens there.
[[nodiscard]] std::string node_address(const std::filesystem::path& directory,
                                       std::string_view node);
// Addresses of the sockets in a fleet's directory. Error: not_found, with what to do.
[[nodiscard]] Result<std::vector<std::string>> addresses_in(const std::filesystem::path& directory);

// $XDG_CACHE_HOME/godwit or ~/.cache/godwit; empty if there is no home.
[[nodiscard]] std::filesystem::path default_cache_directory();

// The godwit executable: `wanted` if given, $GODWIT, one beside this program or in ../bin, the one
// of the build tree this was built in, one in $PATH. Error: not_found, listing where it looked.
[[nodiscard]] Result<std::filesystem::path> find_executable(const std::string& wanted);

}  // namespace godwit::node
