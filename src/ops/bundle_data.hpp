// The bundle of the operations on regions, as a file in memory.
#pragma once

#include "base/bytes.hpp"

namespace godwit::ops {

[[nodiscard]] Bytes bundle_file() noexcept;

}  // namespace godwit::ops
