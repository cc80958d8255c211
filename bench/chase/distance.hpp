// Chases between hosts at a distance: a client and four nodes, each on a host of netlab's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "chase/report.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

// The lines of one delay. Error: unsupported where netlab is; it says why.
[[nodiscard]] Result<std::vector<FarLine>> measure_at_distance(std::chrono::microseconds delay);

// The part of it that runs on the client's host, as the command `kFarCommand ADDRESS KEY_FILE
// RESULT_FILE` of this program.
inline constexpr const char* kFarCommand = "--as-far-client";
int run_far_client(const std::string& address, const std::string& key_file,
                   const std::string& result_file);

}  // namespace godwit::bench
