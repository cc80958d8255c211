// Which element of a region lies where. Pure arithmetic, the same for clients, nodes and mobile
// code; light enough for all of them.
//
//   godwit::ShardMap map = godwit::Sharding::blocks().over(1'000'000, 4);
//   auto [shard, offset] = map.locate(700'000);       // shard 2, offset 200'000
#pragma once

#include <bit>
#include <cstdint>

#include "godwit/mobile_abi.h"

namespace godwit {

// Where an element lies: which shard, and how many elements from its beginning.
struct ShardPlace {
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

// A bijection between the indices below `capacity` and places. locate() costs two divisions, or
// two shifts if chunk and shard count are powers of two. Indices must be below capacity.
class ShardMap {
 public:
  constexpr ShardMap() noexcept = default;
  constexpr explicit ShardMap(const godwit_shard_map& map) noexcept : map_(map) {}

  [[nodiscard]] constexpr const godwit_shard_map& abi() const noexcept { return map_; }
  [[nodiscard]] constexpr std::uint64_t capacity() const noexcept { return map_.capacity; }
  [[nodiscard]] constexpr std::uint32_t shards() const noexcept { return map_.shards; }

  [[nodiscard]] constexpr ShardPlace locate(std::uint64_t index) const noexcept {
    const std::uint64_t at = map_.kind == GODWIT_SHARD_HASHED ? permute(index) : index;
    const std::uint64_t turn = at / map_.chunk;
    return {static_cast<std::uint32_t>(turn % map_.shards),
            turn / map_.shards * map_.chunk + at % map_.chunk};
  }
  // The index of the element at a place; the inverse of locate().
  [[nodiscard]] constexpr std::uint64_t index_at(ShardPlace place) const noexcept {
    const std::uint64_t turn = place.offset / map_.chunk * map_.shards + place.shard;
    const std::uint64_t at = turn * map_.chunk + place.offset % map_.chunk;
    return map_.kind == GODWIT_SHARD_HASHED ? unpermute(at) : at;
  }
  // How many of the first `elements` indices' room a shard needs: one more than the largest offset
  // it can have to hold. For hashed maps that of all of the capacity.
  [[nodiscard]] constexpr std::uint64_t shard_elements(std::uint32_t shard,
                                                       std::uint64_t elements) const noexcept {
    const std::uint64_t positions = map_.kind == GODWIT_SHARD_HASHED ? map_.capacity : elements;
    const std::uint64_t round = map_.chunk * map_.shards;
    const std::uint64_t rest = positions % round;
    const std::uint64_t before = map_.chunk * shard;
    const std::uint64_t last = rest <= before ? 0 : rest - before;
    return positions / round * map_.chunk + (last < map_.chunk ? last : map_.chunk);
  }

 private:
  // A few rounds of multiplying and folding, each a bijection on the numbers of `bits` bits; what
  // falls outside the capacity goes round again, so that the whole is one on those below it.
  [[nodiscard]] constexpr std::uint64_t permute(std::uint64_t index) const noexcept;
  [[nodiscard]] constexpr std::uint64_t unpermute(std::uint64_t at) const noexcept;

  godwit_shard_map map_{1, 1, 1, GODWIT_SHARD_IN_ORDER};
};

}  // namespace godwit
