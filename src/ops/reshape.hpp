// Making regions, and changing what they are.
#pragma once

#include <memory>
#include <string_view>

#include "godwit/detail/region_handle.hpp"
#include "godwit/region.hpp"
#include "ops/attachment.hpp"

namespace godwit::ops {

// All of these wait for the nodes they concern.
[[nodiscard]] Result<std::shared_ptr<Attachment>> create_region(RegionHost& host,
                                                                std::string_view name,
                                                                const detail::ElementType& type,
                                                                const RegionOptions& options);
[[nodiscard]] Result<std::shared_ptr<Attachment>> attach_region(RegionHost& host,
                                                                std::string_view name,
                                                                const detail::ElementType& type);
[[nodiscard]] Status grow_region(Attachment& region, std::uint64_t elements);
[[nodiscard]] Status set_region_state(Attachment& region, wire::RegionState state);

}  // namespace godwit::ops
