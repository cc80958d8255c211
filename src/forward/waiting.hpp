// How a rank waits for the others.
#pragma once

#include <string>

#include "base/fail.hpp"
#include "forward/cpu_port.hpp"

namespace godwit::forward {

// `ready()` is looked at after every arrival; `missing(rank)` is asked when nothing has come for as
// long as the patience lasts.
template <class Ready, class Missing>
Status CpuPort::wait_until(Ready&& ready, Missing&& missing) {
  using std::chrono::steady_clock;
  auto deadline = steady_clock::now() + options_.patience;
  (void)accept_arrivals();  // even if nothing more is needed: somebody may have given up
  while (!ready()) {
    if (accept_arrivals()) {
      deadline = steady_clock::now() + options_.patience;
      continue;
    }
    GODWIT_CHECK(check_peers(missing));
    if (steady_clock::now() >= deadline) return give_up(too_late(missing));
    carrier_->wait(deadline);
  }
  if (over_) return tl::unexpected(*over_);
  return {};
}

// Whether all are still there, and are where this rank expects them.
template <class Missing>
Status CpuPort::check_peers(Missing&& missing) {
  if (over_) return tl::unexpected(*over_);
  if (auto lost = carrier_->lost()) return give_up(*std::move(lost));
  if (const std::optional<Rank> other = out_of_step()) {
    return give_up(
        {ErrorCode::invalid_argument,
         fmt::format("rank {} is in {}, rank {} in {}: all ranks of an exchange call the "
                     "same, in the same order",
                     rank_, termination_ != nullptr ? "run()" : "advance()", *other,
                     termination_ != nullptr ? "advance()" : "run()")});
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t rounds = left_after_[static_cast<std::size_t>(rank)];
    if (rounds > current_ || !missing(rank)) continue;
    return give_up(
        {ErrorCode::node_lost,
         fmt::format("rank {} left the exchange after {} rounds, and rank {} is in round "
                     "{}: all ranks go through the same rounds",
                     rank, rounds, rank_, current_ + 1)});
  }
  return {};
}

template <class Missing>
Error CpuPort::too_late(Missing&& missing) const {
  std::string names;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (missing(rank)) names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
  }
  return {
      ErrorCode::deadline,
      fmt::format("rank {} waited {} ms in round {} for rank {}; if kernels take that long, raise "
                  "ExchangeOptions::patience",
                  rank_, options_.patience.count(), current_ + 1, names)};
}

}  // namespace godwit::forward
