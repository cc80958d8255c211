// Measures what a region's shards cost this process.
#pragma once

#include <vector>

#include "godwit/explain.hpp"
#include "ops/attachment.hpp"

namespace godwit::ops {

// Figures that are a minute old are measured anew, within kCalibrationLimit altogether; those for
// which there is no time stay what they were. Waits, in the calling thread. Leaves what it found
// with the host's CostBook and the attachment's step_costs().
inline constexpr std::chrono::milliseconds kCalibrationLimit{200};
std::vector<ShardCost> calibrate(const Attachment& region);

// The same from what the CostBook has by now, whatever its age. Sends nothing.
StepCosts recall(const Attachment& region);

// What reading memory in order costs this process.
[[nodiscard]] double scan_byte_ns();

}  // namespace godwit::ops
