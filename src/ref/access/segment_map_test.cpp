#include "ref/access/segment_map.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "ref/arena/arena.hpp"

namespace godwit::ref {
namespace {

using fabric::Access;

constexpr std::size_t kSegment = std::size_t{1} << 20;
constexpr NodeId kOwner{5};

SegmentKey key_of(std::uint64_t segment, Access access = Access::read, NodeId home = kOwner) {
  return {home, segment, access};
}

// Two sides of one host: an arena, and a process that maps it.
class SegmentMapTest : public testing::Test {
 protected:
  Extent put(std::size_t bytes) { return arena_.allocate(bytes, Arena::Wait::yes).value(); }
  Result<SegmentMap::Mapped> map(SegmentMap& map, std::uint64_t segment, Access access) {
    const auto shared = arena_.share(segment, access).value();
    return map.map(key_of(segment, access), shared.memory, shared.size);
  }

  Arena arena_{{.budget_bytes = 64 * kSegment}};
};

TEST_F(SegmentMapTest, BothSidesSeeTheSameMemory) {
  SegmentMap peer({});
  const Extent extent = put(1'000);
  EXPECT_EQ(peer.find(key_of(extent.segment)), nullptr);
  const auto reader = map(peer, extent.segment, Access::read);
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_TRUE((*reader)->holds(extent.offset, extent.capacity));
  extent.data[10] = std::byte{77};
  EXPECT_EQ((*reader)->data()[extent.offset + 10], std::byte{77});
  EXPECT_NE((*reader)->data() + extent.offset, extent.data);

  EXPECT_EQ(peer.find(key_of(extent.segment, Access::write)), nullptr);
  const auto writer = map(peer, extent.segment, Access::write);
  ASSERT_TRUE(writer) << writer.error().message;
  (*writer)->data()[extent.offset] = std::byte{78};
  EXPECT_EQ(extent.data[0], std::byte{78});
  // Readers have a mapping of their own, which they cannot write to.
  EXPECT_EQ(peer.find(key_of(extent.segment)), *reader);
  EXPECT_EQ((*reader)->data()[extent.offset], std::byte{78});
  EXPECT_EQ(peer.use().mappings, 2);
  EXPECT_EQ(peer.use().bytes, 2 * (*writer)->size());
}

TEST_F(SegmentMapTest, ASegmentIsMappedOnce) {
  SegmentMap peer({});
  const Extent extent = put(1'000);
  const auto first = map(peer, extent.segment, Access::read);
  const auto second = map(peer, extent.segment, Access::read);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(peer.find(key_of(extent.segment)), *first);
  EXPECT_EQ(peer.find(key_of(extent.segment, Access::read, NodeId{6})), nullptr);
}

TEST_F(SegmentMapTest, WhatIsNoMemoryOfThatSizeIsRefused) {
  SegmentMap peer({});
  const Extent extent = put(1'000);
  const auto shared = arena_.share(extent.segment, Access::read).value();
  EXPECT_EQ(peer.map(key_of(1), shared.memory, shared.size + 1).error().code,
            ErrorCode::protocol_violation);
  EXPECT_EQ(peer.map(key_of(1), fabric::Fd(), 4096).error().code, ErrorCode::protocol_violation);
  EXPECT_FALSE(peer.map(key_of(1, Access::write), shared.memory, shared.size));
  EXPECT_EQ(peer.use().mappings, 0);
}

TEST_F(SegmentMapTest, RangesAreCheckedWithoutOverflow) {
  SegmentMap peer({});
  const auto mapped = *map(peer, put(1'000).segment, Access::read);
  const std::uint64_t size = mapped->size();
  EXPECT_TRUE(mapped->holds(0, size));
  EXPECT_TRUE(mapped->holds(size, 0));
  EXPECT_FALSE(mapped->holds(1, size));
  EXPECT_FALSE(mapped->holds(size + 1, 0));
  EXPECT_FALSE(mapped->holds(UINT64_MAX, 2));
  EXPECT_FALSE(mapped->holds(2, UINT64_MAX));
}

TEST_F(SegmentMapTest, TheLongestUnusedGoFirstAndNoneThatIsInUse) {
  SegmentMap peer({.max_bytes = 4 * kSegment, .max_mappings = 3});
  std::vector<std::uint64_t> segments;
  for (int i = 0; i < 5; ++i) {
    const Extent extent = put(kSegment);
    extent.data[0] = static_cast<std::byte>(100 + i);
    segments.push_back(extent.segment);
  }
  const auto is_mapped = [&](int i) {
    return peer.find(key_of(segments[static_cast<std::size_t>(i)])) != nullptr;
  };
  const auto used = *map(peer, segments[0], Access::read);
  ASSERT_TRUE(map(peer, segments[1], Access::read));
  ASSERT_TRUE(map(peer, segments[2], Access::read));
  EXPECT_TRUE(is_mapped(1));  // which makes 2 the longest unused
  ASSERT_TRUE(map(peer, segments[3], Access::read));
  EXPECT_FALSE(is_mapped(2));
  EXPECT_TRUE(is_mapped(1) && is_mapped(3) && is_mapped(0));
  EXPECT_EQ(peer.use().mappings, 3);

  const auto also_used = *map(peer, segments[1], Access::read);
  const auto used_too = *map(peer, segments[3], Access::read);
  const auto refused = map(peer, segments[4], Access::read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(used->data()[0], std::byte{100});
}

TEST_F(SegmentMapTest, TheLimitOnBytesHolds) {
  SegmentMap peer({.max_bytes = 3 * kSegment, .max_mappings = 100});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(map(peer, put(kSegment).segment, Access::read));
    EXPECT_LE(peer.use().bytes, 3 * kSegment);
  }
  EXPECT_EQ(map(peer, put(4 * kSegment).segment, Access::read).error().code,
            ErrorCode::resource_exhausted);
}

TEST_F(SegmentMapTest, WhatIsForgottenLivesUntilItsLastUserIsDone) {
  SegmentMap peer({});
  const Extent extent = put(kSegment);
  const Extent other = put(2 * kSegment);
  const auto mapped = *map(peer, extent.segment, Access::read);
  ASSERT_TRUE(map(peer, other.segment, Access::read));
  peer.forget(key_of(extent.segment));
  EXPECT_EQ(peer.find(key_of(extent.segment)), nullptr);
  extent.data[5] = std::byte{3};
  EXPECT_EQ(mapped->data()[5], std::byte{3});
  peer.forget_home(NodeId{6});
  EXPECT_EQ(peer.use().mappings, 1);
  peer.forget_home(kOwner);
  EXPECT_EQ(peer.use().mappings, 0);
  EXPECT_EQ(peer.use().bytes, 0);
}

TEST_F(SegmentMapTest, ThreadsMapAndForgetAtRandom) {
  SegmentMap peer({.max_bytes = 8 * kSegment, .max_mappings = 4});
  std::vector<Extent> extents;
  for (int i = 0; i < 6; ++i) {
    extents.push_back(put(kSegment));
    extents.back().data[0] = static_cast<std::byte>(i + 1);
  }
  const auto use = [&](std::uint64_t seed) {
    Random random(seed);
    for (int step = 0; step < 500; ++step) {
      const std::size_t i = random.below(extents.size());
      const Access access = random.chance(0.3) ? Access::write : Access::read;
      const SegmentKey key = key_of(extents[i].segment, access);
      auto mapped = peer.find(key);
      if (mapped == nullptr) mapped = map(peer, key.segment, access).value_or(nullptr);
      if (mapped != nullptr) {
        EXPECT_EQ(mapped->data()[0], static_cast<std::byte>(i + 1));
      }
      if (random.chance(0.1)) peer.forget(key);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) threads.emplace_back(use, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peer.use().mappings, 4);
  peer.forget_home(kOwner);
  EXPECT_EQ(peer.use().bytes, 0);
}

}  // namespace
}  // namespace godwit::ref
