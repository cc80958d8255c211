#include "floors/sample.hpp"

#include <algorithm>
#include <numeric>

namespace godwit::floors {

RoundTrips::RoundTrips(std::size_t expected_rounds) : times_ns_(expected_rounds, 1) {}

Sample RoundTrips::summarise(std::uint64_t wall_ns, std::size_t rounds) {
  if (used_ == 0) return {};
  const auto end = times_ns_.begin() + static_cast<std::ptrdiff_t>(used_);
  std::sort(times_ns_.begin(), end);
  const auto quantile_us = [this](std::size_t per_mille) {
    return static_cast<double>(times_ns_[(used_ - 1) * per_mille / 1000]) / 1e3;
  };
  const double sum_ns = std::accumulate(times_ns_.begin(), end, 0.0);
  Sample sample;
  sample.p50_us = quantile_us(500);
  sample.p99_us = quantile_us(990);
  sample.p999_us = quantile_us(999);
  sample.mean_us = sum_ns / static_cast<double>(used_) / 1e3;
  if (wall_ns > 0)
    sample.rate_per_s = static_cast<double>(rounds) * 1e9 / static_cast<double>(wall_ns);
  sample.rounds = rounds;
  return sample;
}

}  // namespace godwit::floors
