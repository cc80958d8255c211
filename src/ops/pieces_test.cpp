#include "ops/pieces.hpp"

#include <gtest/gtest.h>

#include <random>

namespace godwit::ops {
namespace {

ShardMap random_map(std::mt19937_64& random) {
  const std::uint64_t capacity = 1 + random() % 300;
  const auto shards = static_cast<std::uint32_t>(1 + random() % 9);
  switch (random() % 3) {
    case 0: return Sharding::blocks().over(capacity, shards);
    case 1: return Sharding::cyclic(1 + random() % 12).over(capacity, shards);
    default: return Sharding::hashed().over(capacity, shards);
  }
}

// Every position exactly once, at the place that the map says.
void expect_exact(const ShardMap& map, const std::vector<Piece>& pieces,
                  const std::vector<std::uint64_t>& indices) {
  std::vector<int> seen(indices.size());
  for (const Piece& piece : pieces) {
    std::uint64_t next = 0;
    for_each_run(map, piece, [&](std::uint64_t place, std::uint64_t position, std::uint64_t count) {
      EXPECT_EQ(place, next);
      next += count;
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_LT(position + i, indices.size());
        ++seen[position + i];
        const std::uint64_t offset =
            piece.is_list() ? piece.offsets[place + i] : piece.offset + place + i;
        EXPECT_EQ(map.locate(indices[position + i]), (ShardPlace{piece.shard, offset}));
      }
    });
    EXPECT_EQ(next, piece.count);
  }
  EXPECT_EQ(seen, std::vector<int>(indices.size(), 1));
}

TEST(Pieces, ARangeIsSplitSoThatEveryElementIsAskedForOnce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const ShardMap map = random_map(random);
    const std::uint64_t first = random() % map.capacity();
    const std::uint64_t count = random() % (map.capacity() - first + 1);
    std::vector<std::uint64_t> indices;
    for (std::uint64_t i = 0; i < count; ++i) indices.push_back(first + i);
    expect_exact(map, split_range(map, first, count), indices);
  }
}

TEST(Pieces, ChunksThatLieAnywhereAreSplitToo) {
  std::mt19937_64 random(3);
  const auto nowhere = [](std::uint64_t, std::uint32_t) { return 0U; };
  for (int round = 0; round < 1000; ++round) {
    const auto shards = static_cast<std::uint32_t>(1 + random() % 9);
    const godwit_shard_map shape =
        Sharding::by(1 + random() % 12, nowhere).over(1 + random() % 300, shards).abi();
    std::vector<std::uint8_t> assignment(chunk_count(shape));
    for (std::uint8_t& shard : assignment) shard = static_cast<std::uint8_t>(random() % shards);
    std::vector<std::uint32_t> placement(placement_size(shape));
    place_chunks(shape, assignment, placement);
    const ShardMap map(shape, placement.data());
    const std::uint64_t first = random() % map.capacity();
    std::vector<std::uint64_t> indices(random() % (map.capacity() - first + 1));
    for (std::uint64_t i = 0; i < indices.size(); ++i) indices[i] = first + i;
    expect_exact(map, split_range(map, first, indices.size()), indices);
    for (std::uint64_t& index : indices) index = random() % map.capacity();
    expect_exact(map, split_list(map, indices), indices);
  }
}

TEST(Pieces, AListIsSplitSoThatEveryElementIsAskedForOnce) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 1000; ++round) {
    const ShardMap map = random_map(random);
    std::vector<std::uint64_t> indices(random() % 100);
    for (std::uint64_t& index : indices) index = random() % map.capacity();
    expect_exact(map, split_list(map, indices), indices);
  }
}

TEST(Pieces, ARangeOfBlocksIsOneRunPerShard) {
  const ShardMap map = Sharding::blocks().over(100, 4);
  const auto pieces = split_range(map, 10, 60);
  ASSERT_EQ(pieces.size(), 3U);
  for (const Piece& piece : pieces) {
    int runs = 0;
    for_each_run(map, piece, [&](auto, auto, auto) { ++runs; });
    EXPECT_EQ(runs, 1);
  }
}

}  // namespace
}  // namespace godwit::ops
