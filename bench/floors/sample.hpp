// What one floor measurement says, and how the numbers are taken from single round trips.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace godwit::floors {

// Round trips as the client saw them. Trivially copyable: it travels through a pipe.
struct Sample {
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double mean_us = 0;
  double rate_per_s = 0;  // round trips completed per second of wall time, all in flight counted
  std::uint64_t rounds = 0;
};

[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Which round trips of many in flight are timed. Reading the clock takes about a sixth of what such
// a one costs: if all were, that much of every rate would be the measurement's own.
[[nodiscard]] constexpr bool is_timed(std::size_t number, std::size_t window) noexcept {
  constexpr std::size_t kOneIn = 16;
  return window == 1 || number % kOneIn == 0;
}

// Collects round-trip times; memory for all of them is taken and touched at construction, because
// a first-touch page fault costs more than most of what is measured here.
class RoundTrips {
 public:
  explicit RoundTrips(std::size_t expected_rounds);
  void add(std::uint64_t round_trip_ns) noexcept {
    if (used_ < times_ns_.size()) times_ns_[used_++] = round_trip_ns;
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  // Sorts what was collected; wall_ns is the time from the first send to the last answer, of
  // `rounds` round trips if not all were timed.
  [[nodiscard]] Sample summarise(std::uint64_t wall_ns) { return summarise(wall_ns, used_); }
  [[nodiscard]] Sample summarise(std::uint64_t wall_ns, std::size_t rounds);

 private:
  std::vector<std::uint64_t> times_ns_;
  std::size_t used_ = 0;
};

}  // namespace godwit::floors
