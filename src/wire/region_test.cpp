#include "wire/region.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"
#include "godwit/sharding.hpp"

namespace godwit::wire {
namespace {

RegionDescriptor list_on_two() {
  RegionDescriptor region;
  region.id = 0x1112131415161718;
  region.version = 3;
  region.state = RegionState::sealed;
  region.in_files = true;
  region.element_size = 8;
  region.elements = 9;
  region.map = Sharding::cyclic(2).over(16, 2).abi();
  region.name = "list";
  region.type = "u64";
  region.shards = {{NodeId{0x21}, Epoch{0x22}}, {NodeId{0x31}, Epoch{0x32}}};
  return region;
}

// Golden bytes: what a descriptor looks like may never change within a format.
TEST(RegionDescriptor, HasTheBytesTheProtocolNames) {
  const std::string bytes = encode(list_on_two());
  const std::vector<unsigned char> expected{
      0x01, 0x00, 0x01, 0x01, 0x08, 0,    0,    0,     // format, state, flags, size
      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // id
      3,    0,    0,    0,    0,    0,    0,    0,     // version
      9,    0,    0,    0,    0,    0,    0,    0,     // elements
      16,   0,    0,    0,    0,    0,    0,    0,     // capacity
      2,    0,    0,    0,    0,    0,    0,    0,     // chunk
      2,    0,    0,    0,    0,    0,    0,    0,     // shards, kind
      4,    0,    3,    0,    0,    0,    0,    0,     // sizes of name and type
      0x21, 0,    0,    0,    0,    0,    0,    0,    0x22, 0,   0,   0,    0,
      0,    0,    0,    0x31, 0,    0,    0,    0,    0,    0,   0,   0x32, 0,
      0,    0,    0,    0,    0,    0,    'l',  'i',  's',  't', 'u', '6',  '4'};
  ASSERT_EQ(bytes.size(), expected.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
}

TEST(RegionDescriptor, SurvivesTheWire) {
  const RegionDescriptor said = list_on_two();
  const auto heard = parse_region(bytes_of(encode(said)));
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(*heard, said);
  EXPECT_EQ(heard->key(), "region/list");
}

TEST(RegionDescriptor, OfACreationThatWasUndoneSaysSo) {
  RegionDescriptor said = list_on_two();
  said.undone = true;
  const Status early = validate(said);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("not dropped"), std::string::npos) << early.error().message;
  said.state = RegionState::dropped;
  const auto heard = parse_region(bytes_of(encode(said)));
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(*heard, said);
  said.undone = false;
  EXPECT_FALSE(*heard == said);
}

TEST(RegionDescriptor, TheLargestFitsUnderASharedName) {
  RegionDescriptor region = list_on_two();
  region.map = Sharding::blocks().over(1000, kMaxRegionShards).abi();
  region.shards.clear();
  for (std::size_t i = 0; i < kMaxRegionShards; ++i) region.shards.push_back({NodeId{i + 1}, {}});
  region.name = std::string(kMaxRegionNameBytes, 'n');
  region.type = std::string(kMaxRegionTypeBytes, 't');
  ASSERT_TRUE(validate(region));
  const std::string bytes = encode(region);
  EXPECT_LE(bytes.size(), kMaxDescriptorBytes);
  const auto heard = parse_region(bytes_of(bytes));
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(*heard, region);
}

TEST(RegionDescriptor, WhatMakesNoSenseIsRefusedAndSaysWhy) {
  struct Case {
    void (*spoil)(RegionDescriptor& region);
    const char* word;
  };
  const Case cases[] = {
      {[](RegionDescriptor& r) { r.name = "../passwd"; }, "cannot name"},
      {[](RegionDescriptor& r) { r.name = ""; }, "cannot name"},
      {[](RegionDescriptor& r) { r.name = ".hidden"; }, "cannot name"},
      {[](RegionDescriptor& r) { r.name = std::string(65, 'a'); }, "cannot name"},
      {[](RegionDescriptor& r) { r.id = 0; }, "id"},
      {[](RegionDescriptor& r) { r.version = 0; }, "version"},
      {[](RegionDescriptor& r) { r.state = RegionState{3}; }, "state"},
      {[](RegionDescriptor& r) { r.element_size = 0; }, "size"},
      {[](RegionDescriptor& r) { r.elements = 17; }, "room for 16"},
      {[](RegionDescriptor& r) { r.map.capacity = kMaxRegionBytes / 8 + 1; }, "allowed"},
      {[](RegionDescriptor& r) { r.map.capacity = r.elements = 0; }, "allowed"},
      {[](RegionDescriptor& r) { r.map.chunk = 0; }, "chunks"},
      {[](RegionDescriptor& r) { r.map.chunk = 17; }, "chunks"},
      {[](RegionDescriptor& r) { r.map.kind = 3; }, "sharding"},
      {[](RegionDescriptor& r) { r.map.kind = GODWIT_SHARD_PLACED; }, "chunks have a shard"},
      {[](RegionDescriptor& r) { r.map.shards = 3; }, "ways"},
      {[](RegionDescriptor& r) { r.shards.clear(), r.map.shards = 0; }, "ways"},
      {[](RegionDescriptor& r) { r.type.clear(); }, "type"},
      {[](RegionDescriptor& r) { r.shards[1].node = {}; }, "shard 1 has no node"},
      {[](RegionDescriptor& r) { r.shards[1].node = r.shards[0].node; }, "two shards"},
  };
  for (const Case& one : cases) {
    RegionDescriptor region = list_on_two();
    one.spoil(region);
    const Status valid = validate(region);
    ASSERT_FALSE(valid) << one.word;
    EXPECT_EQ(valid.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(valid.error().message.find(one.word), std::string::npos) << valid.error().message;
    const auto heard = parse_region(bytes_of(encode(region)));
    ASSERT_FALSE(heard) << one.word;
    EXPECT_EQ(heard.error().code, ErrorCode::bad_format);
  }
}

TEST(RegionDescriptor, BytesThatWereCutOrChangedAreRefusedOrUnderstoodWhole) {
  const std::string good = encode(list_on_two());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_region(bytes_of(good.substr(0, size)))) << size;
  }
  EXPECT_FALSE(parse_region(bytes_of(good + "x")));
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    if (const auto heard = parse_region(bytes_of(bytes))) {
      EXPECT_EQ(encode(*heard), bytes);
    }
  }
}

TEST(RegionGrant, IsRefusedUnlessAnElementFits) {
  EXPECT_TRUE(parse_region_grant(bytes_of_value(RegionGrant{1, 0, 8, 8})));
  EXPECT_FALSE(parse_region_grant(bytes_of_value(RegionGrant{1, 0, 8, 7})));
  EXPECT_FALSE(parse_region_grant(bytes_of_value(RegionGrant{1, 0, 0, 8})));
  EXPECT_FALSE(parse_region_grant(bytes_of_value(RegionGrant{1, 0, 8, kMaxRegionBytes + 8})));
  EXPECT_FALSE(parse_region_grant(bytes_of("short")));
}

// --- Sharding, which a descriptor is only the data of -------------------------------------------

ShardMap random_map(Random& random) {
  const std::uint64_t capacity = 1 + random.below(3000);
  const auto shards = static_cast<std::uint32_t>(1 + random.below(9));
  switch (random.below(3)) {
    case 0: return Sharding::blocks().over(capacity, shards);
    case 1: return Sharding::cyclic(1 + random.below(20)).over(capacity, shards);
    default: return Sharding::hashed().over(capacity, shards);
  }
}

TEST(ShardMap, IsABijectionThatItsInverseUndoes) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const ShardMap map = random_map(random);
    std::vector<std::vector<bool>> taken(map.shards());
    for (std::uint32_t shard = 0; shard < map.shards(); ++shard) {
      taken[shard].resize(map.shard_elements(shard, map.capacity()));
    }
    for (std::uint64_t index = 0; index < map.capacity(); ++index) {
      const ShardPlace place = map.locate(index);
      ASSERT_LT(place.shard, map.shards());
      ASSERT_LT(place.offset, taken[place.shard].size());
      ASSERT_FALSE(taken[place.shard][place.offset]);
      taken[place.shard][place.offset] = true;
      ASSERT_EQ(map.index_at(place), index);
    }
  }
}

TEST(ShardMap, ShardsAreExactlyAsLargeAsTheirElementsNeed) {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const ShardMap map = random_map(random);
    const bool hashed = map.abi().kind == GODWIT_SHARD_HASHED;
    const std::uint64_t elements = hashed ? map.capacity() : random.below(map.capacity() + 1);
    std::vector<std::uint64_t> needed(map.shards());
    for (std::uint64_t index = 0; index < elements; ++index) {
      const ShardPlace place = map.locate(index);
      needed[place.shard] = std::max(needed[place.shard], place.offset + 1);
    }
    for (std::uint32_t shard = 0; shard < map.shards(); ++shard) {
      ASSERT_EQ(map.shard_elements(shard, elements), needed[shard]);
    }
  }
}

// A region of random shape whose chunks lie anywhere.
RegionDescriptor random_placed(Random& random) {
  RegionDescriptor region = list_on_two();
  const auto shards = static_cast<std::uint32_t>(1 + random.below(9));
  region.shards.clear();
  for (std::uint32_t i = 0; i < shards; ++i) region.shards.push_back({NodeId{i + 1}, {}});
  const auto nowhere = [](std::uint64_t, std::uint32_t) { return 0U; };
  const std::uint64_t chunk = 1 + random.below(7);
  region.map = Sharding::by(chunk, nowhere).over(1 + random.below(300), shards).abi();
  region.elements = random.below(region.map.capacity + 1);
  for (std::uint64_t i = 0; i < chunk_count(region.map); ++i) {
    region.assignment.push_back(static_cast<std::uint8_t>(random.below(shards)));
  }
  return region;
}

TEST(ShardMap, WhateverTheAssignmentEveryIndexHasOnePlace) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const RegionDescriptor region = random_placed(random);
    const std::vector<std::uint32_t> placement = region.placement();
    const ShardMap map(region.map, placement.data());
    std::vector<std::vector<bool>> taken(map.shards());
    std::vector<std::uint64_t> needed(map.shards());
    for (std::uint32_t shard = 0; shard < map.shards(); ++shard) {
      taken[shard].resize(map.shard_elements(shard, map.capacity()));
    }
    for (std::uint64_t index = 0; index < map.capacity(); ++index) {
      const ShardPlace place = map.locate(index);
      ASSERT_EQ(place.shard, region.assignment[index / region.map.chunk]);
      ASSERT_LT(place.offset, taken[place.shard].size());
      ASSERT_FALSE(taken[place.shard][place.offset]);
      taken[place.shard][place.offset] = true;
      ASSERT_EQ(map.index_at(place), index);
      if (index < region.elements) {
        needed[place.shard] = std::max(needed[place.shard], place.offset + 1);
      }
    }
    for (std::uint32_t shard = 0; shard < map.shards(); ++shard) {
      ASSERT_EQ(map.shard_elements(shard, region.elements), needed[shard]);
    }
  }
}

TEST(RegionDescriptor, TheAssignmentOfChunksTravelsAlong) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    const RegionDescriptor said = random_placed(random);
    const auto heard = parse_region(bytes_of(encode(said)));
    ASSERT_TRUE(heard) << heard.error().message;
    EXPECT_EQ(*heard, said);
    EXPECT_FALSE(parse_region(bytes_of(encode(said) + "x"))) << "one chunk too many";
  }
  EXPECT_FALSE(parse_region(bytes_of(encode(list_on_two()) + "x"))) << "it is not placed";
}

TEST(RegionDescriptor, AnAssignmentThatMakesNoSenseIsRefused) {
  Random random(6);
  const RegionDescriptor good = random_placed(random);
  ASSERT_TRUE(validate(good));
  RegionDescriptor outside = good;
  outside.assignment.back() = static_cast<std::uint8_t>(good.map.shards);
  EXPECT_FALSE(validate(outside));
  RegionDescriptor missing = good;
  missing.assignment.pop_back();
  EXPECT_FALSE(validate(missing));
  RegionDescriptor many = good;
  many.map.chunk = 1;
  many.map.capacity = kMaxPlacedChunks + 1;
  many.assignment.assign(kMaxPlacedChunks + 1, 0);
  EXPECT_FALSE(validate(many));
  many.map.capacity = kMaxPlacedChunks;
  many.assignment.pop_back();
  EXPECT_TRUE(validate(many));
  // With so many nodes the rest does not fit under a shared name.
  many.shards.clear();
  for (std::size_t i = 0; i < kMaxRegionShards; ++i) many.shards.push_back({NodeId{i + 1}, {}});
  many.map.shards = kMaxRegionShards;
  EXPECT_FALSE(validate(many));
}

TEST(ShardMap, LargeIndicesDoNotOverflow) {
  constexpr std::uint64_t kMost = kMaxRegionBytes;
  Random random(3);
  for (const Sharding sharding : {Sharding::blocks(), Sharding::cyclic(), Sharding::cyclic(kMost),
                                  Sharding::cyclic(kMost - 1), Sharding::hashed()}) {
    const ShardMap map = sharding.over(kMost, kMaxRegionShards);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t index = i == 0 ? kMost - 1 : random.below(kMost);
      const ShardPlace place = map.locate(index);
      ASSERT_LT(place.offset, map.shard_elements(place.shard, kMost));
      ASSERT_EQ(map.index_at(place), index);
    }
  }
}

TEST(ShardMap, BlocksAreOneRunEachAndHashedOnesAreNot) {
  const ShardMap blocks = Sharding::blocks().over(1'000'000, 4);
  EXPECT_TRUE(blocks.has_one_run());
  EXPECT_EQ(blocks.locate(700'000), (ShardPlace{2, 200'000}));
  EXPECT_TRUE(Sharding::blocks().over(10, 3).has_one_run());
  EXPECT_FALSE(Sharding::cyclic(3).over(10, 3).has_one_run());
  EXPECT_FALSE(Sharding::hashed().over(10, 10).has_one_run());
}

TEST(ShardMap, HashingSpreadsNeighboursEvenly) {
  constexpr std::uint32_t kShards = 8;
  const ShardMap map = Sharding::hashed().over(1 << 16, kShards);
  std::vector<int> counts(kShards);
  int beside = 0;
  for (std::uint64_t index = 0; index < 8000; ++index) {
    ++counts[map.locate(index).shard];
    if (index > 0 && map.locate(index).shard == map.locate(index - 1).shard) ++beside;
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 200);
  EXPECT_NEAR(beside, 1000, 400);
}

}  // namespace
}  // namespace godwit::wire
