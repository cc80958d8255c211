// What the ways to objects' bytes have taken lately, beside those of channels.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>

#include "ref/access/access.hpp"
#include "ref/channel/choice.hpp"

namespace godwit::ref {

// Any thread.
struct ObjectAccess::MeasuredPaths {
  using Clock = std::chrono::steady_clock;

  void add(Path path, std::uint64_t bytes, Clock::time_point begin) {
    add(resolved_[static_cast<std::size_t>(path)], bytes, begin);
  }
  void add_put(std::uint64_t bytes, Clock::time_point begin) { add(put_, bytes, begin); }
  // What a channel has, by way of the home.
  void add_by_home(std::uint64_t bytes, Clock::time_point begin) { add(by_home_, bytes, begin); }

  [[nodiscard]] MeasuredCost resolved(Path path) const {
    return read(resolved_[static_cast<std::size_t>(path)]);
  }
  [[nodiscard]] MeasuredCost put() const { return read(put_); }
  [[nodiscard]] MeasuredCost by_home() const { return read(by_home_); }

 private:
  void add(MeasuredCost& cost, std::uint64_t bytes, Clock::time_point begin) {
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    const std::lock_guard lock(mutex_);
    cost.add(bytes, took.count());
  }
  [[nodiscard]] MeasuredCost read(const MeasuredCost& cost) const {
    const std::lock_guard lock(mutex_);
    return cost.as_of(Clock::now());
  }

  mutable std::mutex mutex_;
  // In the order of Path.
  static_assert(static_cast<std::size_t>(Path::copy) == 5);
  std::array<MeasuredCost, 6> resolved_{MeasuredCost({0.3, 0}),    MeasuredCost({10, 0}),
                                        MeasuredCost({20, 500}),   MeasuredCost({50, 1000}),
                                        MeasuredCost({200, 2000}), MeasuredCost({1, 100})};
  MeasuredCost put_{ChannelCost{20, 500}};
  MeasuredCost by_home_{ChannelCost{500, 4000}};
};

}  // namespace godwit::ref
