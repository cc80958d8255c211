#include "forward/chunk_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace godwit::forward {
namespace {

// Chunks are carved out of slabs of this size: that of large pages, with which walking over
// many chunks takes a tenth less time.
constexpr std::size_t kSlabBytes = std::size_t{2} << 20;

std::byte* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}, std::nothrow));
}
void release(std::byte* memory, std::size_t alignment) noexcept {
  ::operator delete(memory, std::align_val_t{alignment});
}

std::size_t up_to_line(std::size_t bytes) {
  return (bytes + alignof(Chunk) - 1) / alignof(Chunk) * alignof(Chunk);
}

}  // namespace

ChunkPool::ChunkPool(std::size_t chunk_bytes, std::size_t limit_bytes,
                     std::shared_ptr<ChunkArena> arena)
    : chunk_bytes_(up_to_line(chunk_bytes)),
      limit_bytes_(std::max(limit_bytes, chunk_bytes_)),
      arena_(std::move(arena)) {}

ChunkPool::~ChunkPool() {
  for (std::byte* const slab : slabs_) release(slab, kSlabBytes);
}

void ChunkPool::retire() noexcept {
  drop_reference();
}

void ChunkPool::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool ChunkPool::reserve(std::size_t bytes) noexcept {
  std::size_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - std::min(used, limit_bytes_)) return false;
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_acquire,
                                              std::memory_order_relaxed));
  std::size_t high = high_bytes_.load(std::memory_order_relaxed);
  while (high < used + bytes &&
         !high_bytes_.compare_exchange_weak(high, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

Chunk* ChunkPool::take(std::size_t items_bytes) noexcept {
  return items_bytes <= capacity() ? take_pooled() : make(items_bytes, true);
}

Chunk* ChunkPool::take_beyond(std::size_t items_bytes) noexcept {
  return make(std::max(items_bytes, capacity()), false);
}

Chunk* ChunkPool::take_pooled() noexcept {
  if (!reserve(chunk_bytes_)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_ == nullptr) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (free_ == nullptr && !grow()) {
    used_bytes_.fetch_sub(chunk_bytes_, std::memory_order_relaxed);
    return nullptr;
  }
  Chunk* const chunk = std::exchange(free_, free_->next);
  references_.fetch_add(1, std::memory_order_relaxed);
  chunk->next = nullptr;
  chunk->used = 0;
  chunk->count = 0;
  return chunk;
}

Chunk* ChunkPool::make(std::size_t items_bytes, bool counted) noexcept {
  const std::size_t bytes = sizeof(Chunk) + up_to_line(items_bytes);
  if (counted && !reserve(bytes)) return nullptr;
  std::byte* const memory = allocate(bytes, alignof(Chunk));
  if (memory == nullptr) {
    if (counted) used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  references_.fetch_add(1, std::memory_order_relaxed);
  auto* const chunk = new (memory) Chunk;
  chunk->home = this;
  chunk->data = memory + sizeof(Chunk);
  chunk->capacity = static_cast<std::uint32_t>(up_to_line(items_bytes));
  chunk->kept = counted ? Chunk::Kept::counted : Chunk::Kept::beyond;
  return chunk;
}

bool ChunkPool::grow() noexcept {
  const std::size_t left = limit_bytes_ / chunk_bytes_ - made_;
  const std::size_t count = std::clamp<std::size_t>(kSlabBytes / chunk_bytes_, 1, left);
  const std::size_t bytes = count * chunk_bytes_;
  std::byte* slab = arena_ != nullptr ? arena_->allocate(bytes) : nullptr;
  if (slab == nullptr) {
    slab = allocate(bytes, kSlabBytes);
    if (slab == nullptr) return false;
    if (bytes == kSlabBytes) (void)::madvise(slab, bytes, MADV_HUGEPAGE);
    slabs_.push_back(slab);
  }
  made_ += count;
  for (std::size_t i = count; i-- > 0;) {
    std::byte* const memory = slab + i * chunk_bytes_;
    auto* const chunk = new (memory) Chunk;
    chunk->home = this;
    chunk->data = memory + sizeof(Chunk);
    chunk->capacity = static_cast<std::uint32_t>(capacity());
    chunk->next = std::exchange(free_, chunk);
  }
  return true;
}

void ChunkPool::give_back(Chunk* chunk) noexcept {
  if (chunk->kept == Chunk::Kept::pooled) {
    chunk->next = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(chunk->next, chunk, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
    // Last: whoever may take one must find one.
    used_bytes_.fetch_sub(chunk_bytes_, std::memory_order_release);
  } else {
    if (chunk->kept == Chunk::Kept::counted) {
      used_bytes_.fetch_sub(sizeof(Chunk) + chunk->capacity, std::memory_order_relaxed);
    }
    chunk->~Chunk();
    release(reinterpret_cast<std::byte*>(chunk), alignof(Chunk));
  }
  drop_reference();
}

}  // namespace godwit::forward
