// Where the chunks for one rank arrive: pushed by many threads, taken by one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "forward/carrier.hpp"

namespace godwit::forward {

class Mailbox {
 public:
  // Any thread.
  void push(Chunk* chunk) noexcept;
  // Any thread: ends the taker's wait, although nothing has come.
  void wake() noexcept;

  // All that is there, oldest first; null if nothing is. The taker alone.
  [[nodiscard]] Chunk* take() noexcept;
  // Until there is something, somebody wakes us, or the deadline has come. The taker alone.
  void wait(Deadline deadline);

 private:
  alignas(64) std::atomic<Chunk*> newest_ = nullptr;
  std::atomic<bool> asleep_ = false;
  alignas(64) std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;  // under mutex_
};

}  // namespace godwit::forward
