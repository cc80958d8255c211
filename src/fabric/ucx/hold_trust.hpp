// Whether a message that is sent between two polls may wait for the next one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/scheduler.hpp"

namespace godwit::fabric::ucx {

// A thread that makes many calls comes to the transport for each of them, and polls when it has
// none left to make: what it sends meanwhile can leave together. Nobody says in advance that the
// poll comes, so this is a matter of trust. A batch that waited longer than it takes to fill one
// costs the next messages their wait; each time that happens soon again, twice as many.
class HoldTrust {
 public:
  static constexpr std::uint32_t kFirstPause = 64;
  static constexpr std::uint32_t kLongestPause = 65536;
  static constexpr Duration kGrace = std::chrono::microseconds(20);
  static constexpr Duration kGracePerMessage = std::chrono::microseconds(1);

  // Asked once for each message that could wait.
  [[nodiscard]] bool allows() noexcept {
    if (pause_left_ == 0) return true;
    --pause_left_;
    return false;
  }
  // So many messages were collected within this time, and leave now.
  void judge(Duration held, std::size_t messages) noexcept {
    const Duration allowed = kGrace + kGracePerMessage * static_cast<std::int64_t>(messages);
    if (held <= allowed) {
      next_pause_ = std::max(next_pause_ / 2, kFirstPause);
      return;
    }
    pause_left_ = next_pause_;
    next_pause_ = std::min(next_pause_ * 2, kLongestPause);
  }

 private:
  std::uint32_t pause_left_ = 0;
  std::uint32_t next_pause_ = kFirstPause;
};

}  // namespace godwit::fabric::ucx
