#include "forward/mailbox.hpp"

#include <thread>
#include <utility>

#include "fabric/fence.hpp"

namespace godwit::forward {
namespace {

// Before sleeping: a rank that answers at once is worth waiting for, but never by keeping it from
// its core.
constexpr int kSpins = 200;
constexpr int kYields = 20;

}  // namespace

void Mailbox::push(Chunk* chunk) noexcept {
  chunk->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(chunk->next, chunk, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
  }
  if (asleep_.load(std::memory_order_seq_cst)) wake();
}

void Mailbox::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    wake_ = true;
  }
  woken_.notify_one();
}

Chunk* Mailbox::take() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Chunk* newest = newest_.exchange(nullptr, std::memory_order_acquire);
  Chunk* oldest = nullptr;
  while (newest != nullptr) {
    Chunk* const before = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, before);
  }
  return oldest;
}

void Mailbox::wait(Deadline deadline) {
  const auto has_come = [this] { return newest_.load(std::memory_order_relaxed) != nullptr; };
  for (int i = 0; i < kSpins; ++i) {
    if (has_come()) return;
    fabric::cpu_relax();
  }
  for (int i = 0; i < kYields; ++i) {
    if (has_come()) return;
    std::this_thread::yield();
  }
  std::unique_lock lock(mutex_);
  asleep_.store(true, std::memory_order_seq_cst);
  if (newest_.load(std::memory_order_seq_cst) == nullptr) {
    woken_.wait_until(lock, deadline, [this, &has_come] { return wake_ || has_come(); });
  }
  asleep_.store(false, std::memory_order_relaxed);
  wake_ = false;
}

}  // namespace godwit::forward
