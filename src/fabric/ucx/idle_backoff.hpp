// Asks an idle worker less often.
#pragma once

#include <cstdint>

namespace godwit::fabric::ucx {

// Progressing UCX over tcp is a system call, and a process that polls shared memory in the same
// loop would pay it on every turn. After kPatience idle turns in a row only one turn in kStride
// asks; traffic brings back every turn. kPatience turns take longer than any answer that is waited
// for, so the cost falls on the first message after a silence: at most kStride turns of the loop.
class IdleBackoff {
 public:
  static constexpr std::uint32_t kPatience = 4096;
  static constexpr std::uint32_t kStride = 16;

  [[nodiscard]] bool should_ask() noexcept {
    return idle_turns_ < kPatience || ++idle_turns_ % kStride == 0;
  }
  void found_nothing() noexcept {
    if (idle_turns_ < kPatience) ++idle_turns_;
  }
  void found_something() noexcept { idle_turns_ = 0; }

 private:
  std::uint32_t idle_turns_ = 0;
};

}  // namespace godwit::fabric::ucx
