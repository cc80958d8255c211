// The chunks of one rank: a bounded amount of memory, used again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "godwit/detail/forward/chunk.hpp"

namespace godwit::forward {

using detail::Chunk;

// Memory that chunks of one size are carved out of; it lives as long as they do.
class ChunkArena {
 public:
  virtual ~ChunkArena() = default;
  // Aligned as chunks are, and never taken back; null: there is no more. One thread at a time.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) noexcept = 0;
};

// Chunks are taken by the rank's threads and given back by whichever rank processed them, maybe
// when the rank that took them is gone: the pool lives until its owner and all chunks are back.
class ChunkPool final : public detail::ChunkHome {
 public:
  // `chunk_bytes` is a chunk's size, its header included; `limit_bytes` bounds what take() gives
  // out (one chunk at least). Without an arena chunks come from the heap.
  ChunkPool(std::size_t chunk_bytes, std::size_t limit_bytes,
            std::shared_ptr<ChunkArena> arena = nullptr);
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // The owner is done: the pool deletes itself with the last chunk that is outstanding.
  void retire() noexcept;
  struct Retire {
    void operator()(ChunkPool* pool) const noexcept { pool->retire(); }
  };

  // A chunk for at least `items_bytes`; null at the limit, or if the system has no memory.
  [[nodiscard]] Chunk* take(std::size_t items_bytes) noexcept;
  // One that the limit does not count: for what must leave, however full it is.
  [[nodiscard]] Chunk* take_beyond(std::size_t items_bytes) noexcept;
  void give_back(Chunk* chunk) noexcept override;

  [[nodiscard]] std::size_t capacity() const noexcept { return chunk_bytes_ - sizeof(Chunk); }
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t high_bytes() const noexcept {
    return high_bytes_.load(std::memory_order_relaxed);
  }

 private:
  ~ChunkPool();
  [[nodiscard]] Chunk* take_pooled() noexcept;
  [[nodiscard]] Chunk* make(std::size_t items_bytes, bool counted) noexcept;
  [[nodiscard]] bool grow() noexcept;
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;
  void drop_reference() noexcept;

  const std::size_t chunk_bytes_;
  const std::size_t limit_bytes_;
  const std::shared_ptr<ChunkArena> arena_;
  std::atomic<std::size_t> used_bytes_ = 0;
  std::atomic<std::size_t> high_bytes_ = 0;
  std::atomic<std::size_t> references_ = 1;  // the owner's, and one per chunk outstanding
  std::atomic<Chunk*> returned_ = nullptr;   // pushed by anybody, taken all at once
  std::mutex mutex_;
  Chunk* free_ = nullptr;          // under mutex_
  std::vector<std::byte*> slabs_;  // of the heap; under mutex_
  std::size_t made_ = 0;           // chunks in slabs; under mutex_
};

}  // namespace godwit::forward
