#include "fabric/shm/body_pool.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace godwit::fabric::shm {
namespace {

constexpr std::size_t kHugePage = BodyPool::kPooledSize;

}  // namespace

std::shared_ptr<BodyPool> BodyPool::create(std::size_t max_kept) {
  return std::shared_ptr<BodyPool>(new BodyPool(max_kept));
}

BodyPool::~BodyPool() {
  for (const auto& block : free_) unmap(*block);
}

Buffer BodyPool::allocate(std::size_t size) {
  if (size < kPooledSize) return Buffer::allocate(size);
  std::unique_ptr<Block> block = take(size);
  if (!block) block = map(size);
  if (!block) return {};
  block->pool = shared_from_this();
  std::byte* data = block->data;
  return Buffer::adopt(data, size, block.release(), &release);
}

std::size_t BodyPool::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::unique_ptr<BodyPool::Block> BodyPool::map(std::size_t size) {
  if (size > SIZE_MAX - 2 * kHugePage) return nullptr;
  auto block = std::make_unique<Block>();
  block->size = (size + kHugePage - 1) & ~(kHugePage - 1);
  block->mapping_size = block->size + kHugePage;
  void* start = ::mmap(nullptr, block->mapping_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  block->mapping = static_cast<std::byte*>(start);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  block->data = block->mapping + (kHugePage - misaligned) % kHugePage;
  ::madvise(block->data, block->size, MADV_HUGEPAGE);
  return block;
}

void BodyPool::unmap(const Block& block) noexcept {
  ::munmap(block.mapping, block.mapping_size);
}

// The smallest that fits, unless it would waste more than half of itself.
std::unique_ptr<BodyPool::Block> BodyPool::take(std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const bool fits = (*it)->size >= size && (*it)->size / 2 <= size;
    if (fits && (best == free_.end() || (*it)->size < (*best)->size)) best = it;
  }
  if (best == free_.end()) return nullptr;
  std::unique_ptr<Block> block = std::move(*best);
  free_.erase(best);
  kept_ -= block->size;
  return block;
}

void BodyPool::release(void* owner, std::byte*, std::size_t) noexcept {
  std::unique_ptr<Block> block(static_cast<Block*>(owner));
  const std::shared_ptr<BodyPool> pool = std::move(block->pool);
  pool->give_back(std::move(block));
}

// What was released last is kept, and the oldest makes room for it.
void BodyPool::give_back(std::unique_ptr<Block> block) noexcept {
  const std::lock_guard lock(mutex_);
  if (block->size > max_kept_) {
    unmap(*block);
    return;
  }
  while (kept_ + block->size > max_kept_) {
    kept_ -= free_.front()->size;
    unmap(*free_.front());
    free_.erase(free_.begin());
  }
  kept_ += block->size;
  free_.push_back(std::move(block));
}

}  // namespace godwit::fabric::shm
