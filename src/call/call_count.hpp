// Calls that somebody waits for all together, whoever holds them.
#pragma once

#include <atomic>
#include <cstdint>

namespace godwit::call {

// Any thread. Each call that is counted keeps it alive until the call has ended.
class CallCount {
 public:
  void begin() noexcept { under_way_.fetch_add(1, std::memory_order_relaxed); }
  void end() noexcept {
    if (under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1) under_way_.notify_all();
  }
  // Every call has a deadline, so this returns, if none are begun meanwhile.
  void wait_for_none() const noexcept {
    for (std::uint32_t now = under_way_.load(std::memory_order_acquire); now != 0;
         now = under_way_.load(std::memory_order_acquire)) {
      under_way_.wait(now, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<std::uint32_t> under_way_{0};
};

}  // namespace godwit::call
