// When a run saves what it has: rank 0 says so.
#pragma once

#include <chrono>
#include <cstdint>

#include "godwit/exchange_options.hpp"

namespace godwit::forward {

// Of one run; used by who ends its rounds.
class SaveSchedule {
 public:
  explicit SaveSchedule(const RunOptions& options)
      : saves_(options.saves()),
        every_(options.checkpoint_every),
        interval_(options.checkpoint_interval) {}

  // Once for each round, before it ends: whether all save what it brings.
  [[nodiscard]] bool ends_round() {
    if (!saves_) return false;
    ++rounds_;
    return (every_ > 0 && rounds_ % every_ == 0) ||
           (interval_.count() > 0 && Clock::now() - saved_at_ >= interval_);
  }
  void note_saved() { saved_at_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  const bool saves_;
  const std::uint64_t every_;
  const std::chrono::milliseconds interval_;
  std::uint64_t rounds_ = 0;
  Clock::time_point saved_at_ = Clock::now();
};

}  // namespace godwit::forward
