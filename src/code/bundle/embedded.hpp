// Bundles that are part of this library, as files in memory. Each is defined where its functions
// are (godwit_embed_bundle() in cmake/GodwitBuild.cmake).
#pragma once

#include "base/bytes.hpp"

namespace godwit::embedded {

[[nodiscard]] Bytes ref_bundle() noexcept;
[[nodiscard]] Bytes ops_bundle() noexcept;

}  // namespace godwit::embedded
