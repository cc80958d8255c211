#include "base/block_cache.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

#include "base/sanitizers.hpp"

namespace godwit {

BlockCache::BlockCache(std::size_t max_kept) : max_kept_(max_kept) {
  free_.reserve(kMaxKeptBlocks + 1);  // so that releasing never allocates
}

BlockCache::~BlockCache() {
  for (const auto& block : free_) unmake(*block);
}

std::unique_ptr<BlockCache::Block> BlockCache::allocate(std::size_t size) noexcept {
  std::unique_ptr<Block> block = take(size);
  if (!block) block = make(size);
  if (!block) return nullptr;
  block->cache = this;
  {
    const std::lock_guard lock(mutex_);
    ++in_use_;
  }
  GODWIT_UNPOISON(block->data, block->size);
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

std::unique_ptr<BlockCache::Block> BlockCache::make(std::size_t size) noexcept {
  constexpr std::size_t kLine = 64;
  if (size > SIZE_MAX - 2 * kHugePage) return nullptr;
  std::unique_ptr<Block> block(new (std::nothrow) Block);
  if (!block) return nullptr;
  if (size >= kHugePage) return map(*block, size) ? std::move(block) : nullptr;
  block->size = (size + kSmallUnit - 1) & ~(kSmallUnit - 1);
  block->memory = ::operator new(block->size + kLine, std::nothrow);
  if (block->memory == nullptr) return nullptr;
  const auto misaligned = reinterpret_cast<std::uintptr_t>(block->memory) % kLine;
  block->data = static_cast<std::byte*>(block->memory) + (kLine - misaligned);
  return block;
}

bool BlockCache::map(Block& block, std::size_t size) noexcept {
  block.size = (size + kHugePage - 1) & ~(kHugePage - 1);
  block.mapping_size = block.size + kHugePage;
  block.memory = ::mmap(nullptr, block.mapping_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block.memory == MAP_FAILED) return false;
  const auto misaligned = reinterpret_cast<std::uintptr_t>(block.memory) % kHugePage;
  block.data = static_cast<std::byte*>(block.memory) + (kHugePage - misaligned) % kHugePage;
  ::madvise(block.data, block.size, MADV_HUGEPAGE);
  return true;
}

void BlockCache::unmake(const Block& block) noexcept {
  GODWIT_UNPOISON(block.data, block.size);
  if (block.mapping_size != 0) {
    ::munmap(block.memory, block.mapping_size);
  } else {
    ::operator delete(block.memory);
  }
}

void BlockCache::give_back(std::unique_ptr<Block> block) noexcept {
  GODWIT_POISON(block->data, block->size);
  block->released_at = Clock::now();
  const std::lock_guard lock(mutex_);
  --in_use_;
  if (block->size > max_kept_) {
    unmake(*block);
    return;
  }
  while (kept_ + block->size > max_kept_ || free_.size() == kMaxKeptBlocks) forget_oldest();
  kept_ += block->size;
  free_.push_back(std::move(block));
}

void BlockCache::forget_oldest() noexcept {
  kept_ -= free_.front()->size;
  unmake(*free_.front());
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
