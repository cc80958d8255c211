// Which element of a region lies where. Pure arithmetic, the same for clients, nodes and mobile
// code; light enough for all of them.
//
//   const godwit::ShardMap map = godwit::Sharding::blocks().over(1'000'000, 4);
//   auto [shard, offset] = map.locate(700'000);       // shard 2, offset 200'000
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "godwit/mobile_abi.h"

namespace godwit {

// Where an element lies: which shard, and how many elements from its beginning.
struct ShardPlace {
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

// Chunks that a table can place: what is known of a region to all nodes stays small.
inline constexpr std::size_t kMaxPlacedChunks = 1024;

[[nodiscard]] constexpr std::uint64_t chunk_count(const godwit_shard_map& map) noexcept {
  return map.capacity / map.chunk + (map.capacity % map.chunk == 0 ? 0 : 1);
}
// Words of a placement.
[[nodiscard]] constexpr std::size_t placement_size(const godwit_shard_map& map) noexcept {
  return 2 * static_cast<std::size_t>(chunk_count(map)) + map.shards + 1;
}
// Makes the placement of a map out of the shard of each chunk, which are as many as chunk_count()
// and below map.shards. A shard's chunks lie in it in their order, so that every index has one
// place, whatever the assignment. First, for each chunk, its shard in the upper half of the word
// and how many of the shard's chunks lie before it in the lower; then, for each shard and one more,
// where its chunks begin in the rest: the chunks shard by shard.
constexpr void place_chunks(const godwit_shard_map& map, std::span<const std::uint8_t> assignment,
                            std::span<std::uint32_t> placement) noexcept {
  const std::size_t chunks = assignment.size();
  const std::span<std::uint32_t> starts = placement.subspan(chunks, map.shards + 1);
  const std::span<std::uint32_t> order = placement.subspan(chunks + map.shards + 1, chunks);
  std::uint32_t next = 0;
  for (std::uint32_t shard = 0; shard < map.shards; ++shard) {
    starts[shard] = next;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (assignment[chunk] != shard) continue;
      placement[chunk] = shard << 16 | (next - starts[shard]);
      order[next++] = static_cast<std::uint32_t>(chunk);
    }
  }
  starts[map.shards] = next;
}

// A bijection between the indices below `capacity` and places. locate() costs at most two
// divisions, shifts if chunk and shard count are powers of two. Indices must be below capacity, and
// places those of such indices.
class ShardMap {
 public:
  constexpr ShardMap() noexcept = default;
  // `placement` is for GODWIT_SHARD_PLACED: what place_chunks() made, borrowed.
  constexpr explicit ShardMap(const godwit_shard_map& map,
                              const std::uint32_t* placement = nullptr) noexcept
      : map_(map),
        placement_(placement),
        chunk_shift_(shift_of(map.chunk)),
        shards_shift_(shift_of(map.shards)),
        bits_(static_cast<std::uint8_t>(std::bit_width(map.capacity - 1))) {}

  [[nodiscard]] constexpr const godwit_shard_map& abi() const noexcept { return map_; }
  [[nodiscard]] constexpr std::uint64_t capacity() const noexcept { return map_.capacity; }
  [[nodiscard]] constexpr std::uint32_t shards() const noexcept { return map_.shards; }
  // Each shard holds one run of consecutive indices; the run of shard i starts at i * chunk.
  [[nodiscard]] constexpr bool has_one_run() const noexcept {
    return map_.kind == GODWIT_SHARD_IN_ORDER &&
           map_.chunk >= map_.capacity / map_.shards + (map_.capacity % map_.shards == 0 ? 0 : 1);
  }

  [[nodiscard]] constexpr ShardPlace locate(std::uint64_t index) const noexcept {
    if (map_.kind == GODWIT_SHARD_PLACED) [[unlikely]]
      return locate_placed(index);
    const std::uint64_t at = map_.kind == GODWIT_SHARD_HASHED ? permute(index) : index;
    const std::uint64_t turn = over_chunk(at);
    if (turn < map_.shards) {
      return {static_cast<std::uint32_t>(turn), at - turn * map_.chunk};
    }
    const std::uint64_t round = over_shards(turn);
    return {static_cast<std::uint32_t>(turn - round * map_.shards),
            round * map_.chunk + (at - turn * map_.chunk)};
  }
  // The index of the element at a place; the inverse of locate().
  [[nodiscard]] constexpr std::uint64_t index_at(ShardPlace place) const noexcept {
    const std::uint64_t round = over_chunk(place.offset);
    if (map_.kind == GODWIT_SHARD_PLACED) [[unlikely]] {
      return chunks_of(place.shard)[round] * map_.chunk + (place.offset - round * map_.chunk);
    }
    const std::uint64_t at =
        (round * map_.shards + place.shard) * map_.chunk + (place.offset - round * map_.chunk);
    return map_.kind == GODWIT_SHARD_HASHED ? unpermute(at) : at;
  }
  // How many elements' room a shard needs for the first `elements` indices: one more than the
  // largest offset among them; for hashed maps that of all of the capacity.
  [[nodiscard]] constexpr std::uint64_t shard_elements(std::uint32_t shard,
                                                       std::uint64_t elements) const noexcept {
    if (map_.kind == GODWIT_SHARD_PLACED) [[unlikely]]
      return placed_elements(shard, elements);
    const std::uint64_t positions = map_.kind == GODWIT_SHARD_HASHED ? map_.capacity : elements;
    const std::uint64_t rounds = over_shards(over_chunk(positions));
    const std::uint64_t rest = positions - rounds * map_.shards * map_.chunk;
    const std::uint64_t before = map_.chunk * shard;
    const std::uint64_t last = rest <= before ? 0 : rest - before;
    return rounds * map_.chunk + (last < map_.chunk ? last : map_.chunk);
  }

 private:
  static constexpr std::uint8_t kDivide = 64;
  [[nodiscard]] static constexpr std::uint8_t shift_of(std::uint64_t divisor) noexcept {
    return std::has_single_bit(divisor) ? static_cast<std::uint8_t>(std::countr_zero(divisor))
                                        : kDivide;
  }
  [[nodiscard]] constexpr std::uint64_t over_chunk(std::uint64_t value) const noexcept {
    return chunk_shift_ != kDivide ? value >> chunk_shift_ : value / map_.chunk;
  }
  [[nodiscard]] constexpr std::uint64_t over_shards(std::uint64_t value) const noexcept {
    return shards_shift_ != kDivide ? value >> shards_shift_ : value / map_.shards;
  }

  [[nodiscard]] constexpr ShardPlace locate_placed(std::uint64_t index) const noexcept {
    const std::uint64_t chunk = over_chunk(index);
    const std::uint32_t place = placement_[chunk];
    return {place >> 16, (place & 0xFFFFU) * map_.chunk + (index - chunk * map_.chunk)};
  }
  // Of one shard, ascending.
  [[nodiscard]] constexpr std::span<const std::uint32_t> chunks_of(
      std::uint32_t shard) const noexcept {
    const std::size_t chunks = chunk_count(map_);
    const std::uint32_t* const starts = placement_ + chunks;
    const std::uint32_t* const order = starts + map_.shards + 1;
    return {order + starts[shard], order + starts[shard + 1]};
  }
  [[nodiscard]] constexpr std::uint64_t placed_elements(std::uint32_t shard,
                                                        std::uint64_t elements) const noexcept {
    const std::uint64_t whole = over_chunk(elements);  // chunks that are full
    const std::span<const std::uint32_t> own = chunks_of(shard);
    std::size_t low = 0;
    for (std::size_t high = own.size(); low < high;) {
      const std::size_t middle = (low + high) / 2;
      if (own[middle] < whole) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool has_next = low < own.size() && own[low] == whole;
    return low * map_.chunk + (has_next ? elements - whole * map_.chunk : 0);
  }

  // Rounds of adding, multiplying by an odd number and folding the upper half onto the lower, each
  // a bijection on the numbers of `bits_` bits. What falls outside the capacity goes round again
  // (fewer than two turns on average), so that the whole is one on the numbers below it.
  static constexpr int kRounds = 3;
  static constexpr std::uint64_t kStep = 0x9E37'79B9'7F4A'7C15U;
  static constexpr std::uint64_t kFactor = 0xD6E8'FEB8'6659'FD93U;
  [[nodiscard]] static constexpr std::uint64_t inverse_of(std::uint64_t odd) noexcept {
    std::uint64_t inverse = odd;  // right in 3 bits; each step of Newton's doubles them
    for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
    return inverse;
  }
  [[nodiscard]] constexpr std::uint64_t mask() const noexcept {
    return bits_ == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits_);
  }
  [[nodiscard]] constexpr std::uint64_t permute(std::uint64_t index) const noexcept {
    const unsigned half = (bits_ + 1U) / 2;
    do {
      for (int round = 0; round < kRounds; ++round) {
        index = ((index + kStep) * kFactor) & mask();
        index ^= index >> half;
      }
    } while (index >= map_.capacity);
    return index;
  }
  [[nodiscard]] constexpr std::uint64_t unpermute(std::uint64_t at) const noexcept {
    constexpr std::uint64_t kInverse = inverse_of(kFactor);
    const unsigned half = (bits_ + 1U) / 2;
    do {
      for (int round = 0; round < kRounds; ++round) {
        at ^= at >> half;
        at = (at * kInverse - kStep) & mask();
      }
    } while (at >= map_.capacity);
    return at;
  }

  godwit_shard_map map_{1, 1, 1, GODWIT_SHARD_IN_ORDER};
  const std::uint32_t* placement_ = nullptr;
  std::uint8_t chunk_shift_ = 0;
  std::uint8_t shards_shift_ = 0;
  std::uint8_t bits_ = 0;  // of the largest index
};

// How a region's elements are dealt out; over() makes it a map for so many elements and nodes.
class Sharding {
 public:
  // One run of consecutive elements for each node. With room to grow the last runs fill up last.
  [[nodiscard]] static constexpr Sharding blocks() noexcept {
    return Sharding(0, GODWIT_SHARD_IN_ORDER);
  }
  // `chunk` in a row to each node in turn; not 0.
  [[nodiscard]] static constexpr Sharding cyclic(std::uint64_t chunk = 1) noexcept {
    return Sharding(chunk == 0 ? 1 : chunk, GODWIT_SHARD_IN_ORDER);
  }
  // Neighbours lie apart, and every node gets as much of every part. Takes the memory of all of the
  // capacity from the start.
  [[nodiscard]] static constexpr Sharding hashed() noexcept {
    return Sharding(1, GODWIT_SHARD_HASHED);
  }

  // `chunk` in a row to the node that a function of yours names: assign(i, nodes) is the number,
  // from 0 to nodes - 1, of the one that gets the i-th chunk. It is asked once for each chunk when
  // the region is made, and is borrowed until then; what it said travels with the region, so there
  // are at most kMaxPlacedChunks.
  template <class Assign>
    requires std::is_object_v<Assign>  // a lambda, not a plain function
  [[nodiscard]] static constexpr Sharding by(std::uint64_t chunk, const Assign& assign) noexcept {
    Sharding sharding(chunk == 0 ? 1 : chunk, GODWIT_SHARD_PLACED);
    sharding.function_ = &assign;
    sharding.assign_ = [](const void* function, std::uint64_t number, std::uint32_t shards) {
      return static_cast<std::uint32_t>((*static_cast<const Assign*>(function))(number, shards));
    };
    return sharding;
  }
  [[nodiscard]] constexpr bool is_placed() const noexcept { return kind_ == GODWIT_SHARD_PLACED; }
  // The shard of a chunk; is_placed() must hold.
  [[nodiscard]] constexpr std::uint32_t shard_of_chunk(std::uint64_t chunk,
                                                       std::uint32_t shards) const {
    return assign_(function_, chunk, shards);
  }

  // Neither is 0. The map of one that is placed still needs its placement.
  [[nodiscard]] constexpr ShardMap over(std::uint64_t capacity,
                                        std::uint32_t shards) const noexcept {
    std::uint64_t chunk = chunk_;
    if (chunk == 0) chunk = capacity / shards + (capacity % shards == 0 ? 0 : 1);
    if (chunk > capacity) chunk = capacity;
    return ShardMap(godwit_shard_map{capacity, chunk, shards, kind_});
  }

 private:
  constexpr Sharding(std::uint64_t chunk, std::uint32_t kind) noexcept
      : chunk_(chunk), kind_(kind) {}

  const void* function_ = nullptr;
  std::uint32_t (*assign_)(const void*, std::uint64_t, std::uint32_t) = nullptr;
  std::uint64_t chunk_;  // 0: as large as it takes for one run per shard
  std::uint32_t kind_;
};

}  // namespace godwit
