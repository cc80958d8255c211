#include "ops/pieces.hpp"

#include <algorithm>
#include <numeric>

namespace godwit::ops {
namespace {

// How many of the first `positions` positions lie on a shard; those are its first offsets.
std::uint64_t offsets_below(const ShardMap& map, std::uint32_t shard, std::uint64_t positions) {
  return map.shard_elements(shard, positions);
}

}  // namespace

std::vector<Piece> split_range(const ShardMap& map, std::uint64_t first, std::uint64_t count) {
  if (count == 0) return {};
  if (map.abi().kind == GODWIT_SHARD_HASHED) {
    std::vector<std::uint64_t> indices(count);
    std::iota(indices.begin(), indices.end(), first);
    return split_list(map, indices);
  }
  std::vector<Piece> pieces;
  for (std::uint32_t shard = 0; shard < map.shards(); ++shard) {
    const std::uint64_t begin = offsets_below(map, shard, first);
    const std::uint64_t end = offsets_below(map, shard, first + count);
    if (begin == end) continue;
    pieces.push_back({.shard = shard, .offset = begin, .count = end - begin, .first = first});
  }
  return pieces;
}

std::vector<Piece> split_list(const ShardMap& map, std::span<const std::uint64_t> indices) {
  std::vector<Piece> by_shard(map.shards());
  for (std::uint64_t position = 0; position < indices.size(); ++position) {
    const ShardPlace place = map.locate(indices[position]);
    Piece& piece = by_shard[place.shard];
    piece.shard = place.shard;
    piece.offsets.push_back(place.offset);
    piece.positions.push_back(position);
    ++piece.count;
  }
  std::erase_if(by_shard, [](const Piece& piece) { return piece.count == 0; });
  return by_shard;
}

}  // namespace godwit::ops
