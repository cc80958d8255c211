// A shard of another process of this host, mapped here and read with plain loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ids.hpp"
#include "fabric/memory/life_word.hpp"
#include "fabric/memory/segment.hpp"
#include "wire/region.hpp"

namespace godwit::region {

// Where a shard is to be found.
struct ShardKey {
  NodeId home;
  std::uint64_t region = 0;
  std::uint32_t shard = 0;
};

// Immutable; any thread. Memory of a home that died stays readable, so nothing that was loaded is
// good until is_good() said so afterwards:
//
//   const T value = load(shard.data() + offset);
//   if (!shard.is_good()) ...                       // node_lost, or dropped
class MappedShard {
 public:
  // Checks and maps what the home sent. Errors: protocol_violation, resource_exhausted.
  [[nodiscard]] static Result<std::shared_ptr<const MappedShard>> create(
      const ShardKey& key, const wire::RegionGrant& grant, const fabric::Fd& memory,
      const fabric::Fd& life_page);

  [[nodiscard]] const ShardKey& key() const noexcept { return key_; }
  // Where the element at offset 0 lies; there is room for capacity_elements() of them.
  [[nodiscard]] const std::byte* data() const noexcept { return segment_.data(); }
  [[nodiscard]] std::uint64_t capacity_elements() const noexcept {
    return segment_.capacity_bytes() / element_size_;
  }
  [[nodiscard]] std::uint32_t element_size() const noexcept { return element_size_; }
  // How many elements the shard has now, as its home says; never more than there is room for.
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return segment_.used_bytes() / element_size_;
  }

  // True if everything this thread loaded from here before the call was the region's: its home
  // lives and has not dropped it. Costs two loads. Once false, false for good.
  [[nodiscard]] bool is_good() const noexcept {
    return life_.alive_after_loads() &&
           segment_.state_after_loads() != fabric::SegmentState::dropped;
  }
  // False once the home process has ended, however it ended.
  [[nodiscard]] bool home_lives() const noexcept { return life_.alive_after_loads(); }

 private:
  MappedShard(const ShardKey& key, std::uint32_t element_size, fabric::SegmentView segment,
              fabric::PeerLife life) noexcept
      : key_(key),
        element_size_(element_size),
        segment_(std::move(segment)),
        life_(std::move(life)) {}

  ShardKey key_;
  std::uint32_t element_size_;
  fabric::SegmentView segment_;
  fabric::PeerLife life_;
};

}  // namespace godwit::region
