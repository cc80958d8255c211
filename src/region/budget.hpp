// How much memory a node's regions may use together.
#pragma once

#include <cstdint>
#include <mutex>

namespace godwit::region {

// Any thread.
class Budget {
 public:
  explicit Budget(std::uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  // False, and nothing is taken, if there is not so much left.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_bytes_ - used_bytes_) return false;
    used_bytes_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= bytes;
  }
  [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }
  [[nodiscard]] std::uint64_t left_bytes() const noexcept { return limit_bytes_ - used_bytes(); }

 private:
  const std::uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t used_bytes_ = 0;
};

}  // namespace godwit::region
