// Chunks that many threads put down and one takes up, all at once.
#pragma once

#include <atomic>
#include <utility>

#include "godwit/detail/forward/chunk.hpp"

namespace godwit::forward {

class ChunkStack {
 public:
  // Any thread. The chunk is the taker's at once.
  void push(detail::Chunk* chunk) noexcept {
    chunk->next = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(chunk->next, chunk, std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] bool is_empty() const noexcept {
    return newest_.load(std::memory_order_seq_cst) == nullptr;
  }
  // All, oldest first, linked by `next`. One thread at a time.
  [[nodiscard]] detail::Chunk* take() noexcept {
    if (is_empty()) return nullptr;
    detail::Chunk* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    detail::Chunk* oldest = nullptr;
    while (newest != nullptr) {
      detail::Chunk* const before = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, before);
    }
    return oldest;
  }

 private:
  alignas(64) std::atomic<detail::Chunk*> newest_ = nullptr;
};

}  // namespace godwit::forward
