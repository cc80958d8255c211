// Descriptors that tests of this layer share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "godwit/sharding.hpp"
#include "wire/region.hpp"

namespace godwit::region {

inline constexpr NodeId kSelf{1};
inline constexpr NodeId kOther{2};
inline constexpr Epoch kNow{20};

// A list of u64, in blocks over these nodes at epoch kNow.
inline wire::RegionDescriptor list_over(const std::vector<NodeId>& nodes, std::uint64_t elements,
                                        std::uint64_t capacity = 0, std::uint64_t id = 77) {
  wire::RegionDescriptor region;
  region.id = id;
  region.element_size = 8;
  region.elements = elements;
  region.map =
      Sharding::blocks()
          .over(capacity == 0 ? elements : capacity, static_cast<std::uint32_t>(nodes.size()))
          .abi();
  region.name = "list";
  region.type = "u64";
  for (const NodeId node : nodes) region.shards.push_back({node, kNow});
  return region;
}

}  // namespace godwit::region
