#include "base/block_cache.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace godwit {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, UsesMemoryAgainAndKeepsNoMoreThanItsLimit) {
  BlockCache cache(8 * kMiB);
  auto block = cache.allocate(4 * kMiB);
  ASSERT_NE(block, nullptr);
  const std::byte* const first = block->data;
  BlockCache::release(std::move(block));
  EXPECT_EQ(cache.kept(), 4 * kMiB);

  auto again = cache.allocate(3 * kMiB);
  EXPECT_EQ(again->data, first);
  EXPECT_EQ(cache.kept(), 0U);
  auto too_large_to_keep = cache.allocate(64 * kMiB);
  BlockCache::release(std::move(too_large_to_keep));
  EXPECT_EQ(cache.kept(), 0U);

  auto other = cache.allocate(6 * kMiB);
  BlockCache::release(std::move(again));
  BlockCache::release(std::move(other));
  EXPECT_EQ(cache.kept(), 6 * kMiB) << "the older one makes room";
}

TEST(BlockCache, DoesNotLendALargeBlockForASmallPurpose) {
  BlockCache cache(64 * kMiB);
  BlockCache::release(cache.allocate(32 * kMiB));
  auto small = cache.allocate(4 * kMiB);
  EXPECT_EQ(small->size, 4 * kMiB);
  EXPECT_EQ(cache.kept(), 32 * kMiB);
  BlockCache::release(std::move(small));
}

TEST(BlockCache, GivesBackWhatNobodyUsesForAWhile) {
  BlockCache cache(64 * kMiB);
  auto in_use = cache.allocate(2 * kMiB);
  BlockCache::release(cache.allocate(4 * kMiB));
  EXPECT_TRUE(cache.release_idle(std::chrono::hours(1)));
  EXPECT_EQ(cache.kept(), 4 * kMiB);
  EXPECT_TRUE(cache.release_idle(std::chrono::seconds(0))) << "one is still in use";
  EXPECT_EQ(cache.kept(), 0U);
  BlockCache::release(std::move(in_use));
  EXPECT_FALSE(cache.release_idle(std::chrono::seconds(0)));
  EXPECT_EQ(cache.kept(), 0U);
}

TEST(BlockCache, KeepsBlocksBelowAHugePageToo) {
  BlockCache cache;
  auto block = cache.allocate(100'000);
  EXPECT_EQ(block->size, 4 * BlockCache::kSmallUnit);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data) % 64, 0U);
  std::memset(block->data, 1, block->size);
  const std::byte* const data = block->data;
  BlockCache::release(std::move(block));
  auto again = cache.allocate(70'000);
  EXPECT_EQ(again->data, data);
  BlockCache::release(std::move(again));
  std::vector<std::unique_ptr<BlockCache::Block>> many;
  for (std::size_t i = 0; i < 2 * BlockCache::kMaxKeptBlocks; ++i) {
    many.push_back(cache.allocate(40'000));
  }
  for (auto& one : many) BlockCache::release(std::move(one));
  EXPECT_EQ(cache.kept(), BlockCache::kMaxKeptBlocks * 2 * BlockCache::kSmallUnit);
}

TEST(BlockCache, AnAbsurdSizeIsRefused) {
  BlockCache cache;
  EXPECT_EQ(cache.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(cache.allocate(SIZE_MAX / 2), nullptr);
}

TEST(BlockCache, ServesLargeBuffersFromAnyThread) {
  (void)large_blocks().release_idle(std::chrono::seconds(0));
  Buffer buffer = Buffer::allocate(5 * kMiB);
  ASSERT_EQ(buffer.size(), 5 * kMiB);
  std::memset(buffer.data(), 1, buffer.size());
  std::thread other([held = std::move(buffer)]() mutable { held.reset(); });
  other.join();
  EXPECT_EQ(large_blocks().kept(), 6 * kMiB);
  EXPECT_FALSE(large_blocks().release_idle(std::chrono::seconds(0)));
}

}  // namespace
}  // namespace godwit
