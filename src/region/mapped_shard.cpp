#include "region/mapped_shard.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::region {

Result<std::shared_ptr<const MappedShard>> MappedShard::create(const ShardKey& key,
                                                               const wire::RegionGrant& grant,
                                                               const fabric::Fd& memory,
                                                               const fabric::Fd& life_page) {
  if (grant.region != key.region || grant.shard != key.shard) {
    return fail(ErrorCode::protocol_violation,
                "asked for shard {} of region {}, and was given shard {} of {}", key.shard,
                to_hex(key.region), grant.shard, to_hex(grant.region));
  }
  GODWIT_TRY(fabric::SegmentView segment, fabric::SegmentView::open(memory, grant.capacity_bytes));
  GODWIT_TRY(fabric::PeerLife life, fabric::PeerLife::open(life_page));
  return std::shared_ptr<const MappedShard>(
      new MappedShard(key, grant.element_size, std::move(segment), std::move(life)));
}

}  // namespace godwit::region
