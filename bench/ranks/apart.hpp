// Ranks that are processes, for measuring.
#pragma once

#include <functional>

#include "floors/sample.hpp"
#include "godwit/error.hpp"
#include "godwit/group.hpp"

namespace godwit::bench {

// Forks one process per rank, on this machine's cores by turns, and returns what rank 0's `body`
// does. The caller has no threads.
[[nodiscard]] Result<floors::Sample> measure_apart(
    Rank ranks, Way way, const std::function<Result<floors::Sample>(Group& group)>& body);

}  // namespace godwit::bench
