#include "base/block_cache.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define GODWIT_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GODWIT_POISONS 1
#endif
#endif
#ifdef GODWIT_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

namespace godwit {

BlockCache::BlockCache(std::size_t max_kept) : max_kept_(max_kept) {
  free_.reserve(max_kept / kUnit + 1);  // so that releasing never allocates
}

BlockCache::~BlockCache() {
  for (const auto& block : free_) unmap(*block);
}

std::unique_ptr<BlockCache::Block> BlockCache::allocate(std::size_t size) noexcept {
  std::unique_ptr<Block> block = take(size);
  if (!block) block = map(size);
  if (!block) return nullptr;
  block->cache = this;
  {
    const std::lock_guard lock(mutex_);
    ++in_use_;
  }
  ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
  return block;
}

void BlockCache::release(std::unique_ptr<Block> block) noexcept {
  BlockCache& cache = *block->cache;
  cache.give_back(std::move(block));
}

// The smallest that fits, unless it would waste more than half of itself.
std::unique_ptr<BlockCache::Block> BlockCache::take(std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const bool fits = (*it)->size >= size && (*it)->size / 2 <= size;
    if (fits && (best == free_.end() || (*it)->size <= (*best)->size)) best = it;
  }
  if (best == free_.end()) return nullptr;
  std::unique_ptr<Block> block = std::move(*best);
  free_.erase(best);
  kept_ -= block->size;
  return block;
}

std::unique_ptr<BlockCache::Block> BlockCache::map(std::size_t size) noexcept {
  if (size > SIZE_MAX - 2 * kUnit) return nullptr;
  std::unique_ptr<Block> block(new (std::nothrow) Block);
  if (!block) return nullptr;
  block->size = (size + kUnit - 1) & ~(kUnit - 1);
  block->mapping_size = block->size + kUnit;
  void* start = ::mmap(nullptr, block->mapping_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  block->mapping = static_cast<std::byte*>(start);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(start) % kUnit;
  block->data = block->mapping + (kUnit - misaligned) % kUnit;
  ::madvise(block->data, block->size, MADV_HUGEPAGE);
  return block;
}

void BlockCache::unmap(const Block& block) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(block.data, block.size);
  ::munmap(block.mapping, block.mapping_size);
}

void BlockCache::give_back(std::unique_ptr<Block> block) noexcept {
  ASAN_POISON_MEMORY_REGION(block->data, block->size);
  block->released_at = Clock::now();
  const std::lock_guard lock(mutex_);
  --in_use_;
  if (block->size > max_kept_) {
    unmap(*block);
    return;
  }
  while (kept_ + block->size > max_kept_) forget_oldest();
  kept_ += block->size;
  free_.push_back(std::move(block));
}

void BlockCache::forget_oldest() noexcept {
  kept_ -= free_.front()->size;
  unmap(*free_.front());
  free_.erase(free_.begin());
}

bool BlockCache::release_idle(Clock::duration age) noexcept {
  const auto since = Clock::now() - age;
  const std::lock_guard lock(mutex_);
  while (!free_.empty() && free_.front()->released_at <= since) forget_oldest();
  return kept_ != 0 || in_use_ != 0;
}

std::size_t BlockCache::kept() const noexcept {
  const std::lock_guard lock(mutex_);
  return kept_;
}

BlockCache& large_blocks() noexcept {
  static BlockCache* const cache = new BlockCache;
  return *cache;
}

}  // namespace godwit
