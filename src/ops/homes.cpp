#include "godwit/ops/every_shard.hpp"
#include "ops/attachment.hpp"

namespace godwit::detail {

std::vector<NodeHandle> homes_of(const RegionHandle& region) {
  const ops::Attachment& there = region.attachment();
  std::vector<NodeHandle> homes;
  homes.reserve(there.shards().size());
  for (const auto& shard : there.shards()) {
    homes.emplace_back(there.host().caller(), shard.node.value);
  }
  return homes;
}

}  // namespace godwit::detail
