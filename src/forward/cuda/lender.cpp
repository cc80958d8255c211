#include "forward/cuda/lender.hpp"

namespace godwit::cuda {

using godwit::detail::Chunk;

void Lender::retire() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_retired_ = true;
    if (lent_ > 0) return;
  }
  delete this;
}

Chunk* Lender::lend(std::byte* items) {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) {
    chunks_.push_back(std::make_unique<Chunk>());
    spare_.push_back(chunks_.back().get());
  }
  Chunk* const chunk = spare_.back();
  spare_.pop_back();
  ++lent_;
  chunk->home = this;
  chunk->data = items;
  chunk->kept = Chunk::Kept::lent;
  return chunk;
}

void Lender::give_back(Chunk* chunk) noexcept {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    spare_.push_back(chunk);
    is_last = --lent_ == 0;
    // Under the lock: who waits may be the one that ends us.
    if (is_last && !is_retired_) back_.notify_all();
    is_last = is_last && is_retired_;
  }
  if (is_last) delete this;
}

bool Lender::await_all(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return back_.wait_for(lock, patience, [this] { return lent_ == 0; });
}

}  // namespace godwit::cuda
