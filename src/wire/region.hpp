// What a fleet knows of a region: its shape, and which node has which shard. Stored under the
// shared name "region/NAME" and handed to the nodes themselves; docs/protocol.md is the spec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::wire {

inline constexpr std::size_t kMaxRegionShards = 192;
inline constexpr std::size_t kMaxRegionNameBytes = 64;
inline constexpr std::size_t kMaxRegionTypeBytes = 896;
// Of a whole descriptor: what fits under a shared name.
inline constexpr std::size_t kMaxDescriptorBytes = 4096;
// Of all of a region's elements at its capacity: nothing computed from a descriptor overflows.
inline constexpr std::uint64_t kMaxRegionBytes = std::uint64_t{1} << 43;
inline constexpr std::string_view kRegionKeyPrefix = "region/";

enum class RegionState : std::uint8_t {
  live = 0,
  sealed = 1,  // can be read, and not be written any more
  dropped = 2,
};
[[nodiscard]] std::string_view to_string(RegionState state) noexcept;

// A shard belongs to one life of a node: what a later one has in its place is not it. (Unless it
// lies in a file, which outlives both.)
struct RegionShard {
  NodeId node;
  Epoch epoch;
  friend bool operator==(const RegionShard&, const RegionShard&) = default;
};

struct RegionDescriptor {
  std::uint64_t id = 0;       // random, not 0
  std::uint64_t version = 1;  // grows with each change of the others
  RegionState state = RegionState::live;
  bool in_files = false;
  // Of a dropped one: not all nodes could make it. Files that were there before it stay.
  bool undone = false;
  std::uint32_t element_size = 0;  // in bytes
  std::uint64_t elements = 0;
  godwit_shard_map map{1, 1, 1, GODWIT_SHARD_IN_ORDER};
  std::string name{};  // a plain file name
  std::string type{};  // of an element, docs/types.md
  std::vector<RegionShard> shards{};
  std::vector<std::uint8_t> assignment{};  // of a placed map: the shard of each chunk

  [[nodiscard]] std::string key() const { return std::string(kRegionKeyPrefix) + name; }
  // What a ShardMap of `map` needs; empty unless it is placed. Of a descriptor that is valid.
  [[nodiscard]] std::vector<std::uint32_t> placement() const;
};
[[nodiscard]] bool operator==(const RegionDescriptor& a, const RegionDescriptor& b);
[[nodiscard]] bool same_map(const godwit_shard_map& a, const godwit_shard_map& b) noexcept;

// invalid_argument, saying which field and why. What passes can be encoded, and everything that
// godwit/sharding.hpp computes from it stays in range. Whether `type` is one, and of that size, is
// not looked at.
[[nodiscard]] Status validate(const RegionDescriptor& descriptor);
[[nodiscard]] Status validate_region_name(std::string_view name);
// Of one that validate() accepts.
[[nodiscard]] std::string encode(const RegionDescriptor& descriptor);
// Errors: bad_format.
[[nodiscard]] Result<RegionDescriptor> parse_region(Bytes bytes);

// --- Mappings -----------------------------------------------------------------------------------
// ask_region: id is the asker's, subject the region's, aux the shard's number; no body. The answer,
// kind `region`, has the same id. A grant comes with two descriptors, the shard's memory and the
// home's life page; anything else is a refusal: aux an ErrorCode, the body a sentence.

struct RegionGrant {
  std::uint64_t region = 0;
  std::uint32_t shard = 0;
  std::uint32_t element_size = 0;
  std::uint64_t capacity_bytes = 0;  // of the shard's memory; a fabric::Segment of that capacity
};
static_assert(sizeof(RegionGrant) == 24);
// Errors: bad_format.
[[nodiscard]] Result<RegionGrant> parse_region_grant(Bytes body);

}  // namespace godwit::wire
