// Which channel an object's bytes go into, and which way they are fetched: arithmetic over policies
// and measured times. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/channel.hpp"

namespace godwit::ref {

// What moving bytes one way has taken lately: moving averages of a fixed time, from small ones, and
// of the time for each byte, from large ones. A value; not for several threads at once.
class MeasuredCost {
 public:
  static constexpr std::uint64_t kLargeBytes = 64 << 10;
  static constexpr double kWeight = 0.2;  // of the newest
  // So long it holds what was measured last: a way that is not gone because it was slow is not
  // measured, and would stay slow for ever.
  static constexpr std::chrono::seconds kGoodFor{30};
  using Clock = std::chrono::steady_clock;

  explicit MeasuredCost(ChannelCost guess) noexcept : guess_(guess), cost_(guess) {}
  void add(std::uint64_t bytes, double us, Clock::time_point now = Clock::now()) noexcept;
  // What is known of it now: this, or the guess once more, of small ones and of large ones.
  [[nodiscard]] MeasuredCost as_of(Clock::time_point now) const noexcept;
  [[nodiscard]] double estimate_us(std::uint64_t bytes) const noexcept {
    return cost_.estimate_us(bytes);
  }
  [[nodiscard]] ChannelCost cost() const noexcept { return cost_; }
  // 0: what estimate_us() says is a guess.
  [[nodiscard]] std::uint64_t count() const noexcept { return small_ + large_; }
  [[nodiscard]] std::uint64_t last_bytes() const noexcept { return last_bytes_; }
  [[nodiscard]] double last_us() const noexcept { return last_us_; }

 private:
  ChannelCost guess_;
  ChannelCost cost_;
  Clock::time_point small_at_{};
  Clock::time_point large_at_{};
  std::uint64_t small_ = 0;
  std::uint64_t large_ = 0;
  std::uint64_t last_bytes_ = 0;
  double last_us_ = 0;
};

// '*' stands for any characters, '?' for one.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;
[[nodiscard]] bool fits_host(const ChannelPolicy& policy, std::string_view host) noexcept;

// Of an object that is to be put.
struct PutFacts {
  std::uint64_t size = 0;
  std::string_view host;
  std::span<const std::string> tags{};
};
// Empty: it fits. Else why it does not.
[[nodiscard]] std::string misfit(const ChannelPolicy& policy, const PutFacts& facts);

struct PutCandidate {
  const ChannelPolicy* policy = nullptr;  // null: the home's memory, which fits everything
  double expected_us = 0;
  bool healthy = true;
};
// Those that fit and are healthy, as indices: the best first, the others for when that fails.
// Memory is always among them.
[[nodiscard]] std::vector<std::size_t> order_for_put(std::span<const PutCandidate> candidates,
                                                     const PutFacts& facts);

}  // namespace godwit::ref
