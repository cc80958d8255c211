#include "trace/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace godwit::trace {

double HistogramSnapshot::quantile(double q) const noexcept {
  if (count == 0) return 0;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count);
  double below = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto here = static_cast<double>(buckets[i]);
    if (here > 0 && below + here >= wanted) {
      const auto low = static_cast<double>(HistogramBuckets::lower_bound(i));
      const double high = i + 1 < buckets.size()
                              ? static_cast<double>(HistogramBuckets::lower_bound(i + 1))
                              : std::ldexp(1.0, 64);
      // A bucket of one value is that value; in a wider one samples are taken as spread evenly.
      const double width = high - low > 1 ? high - low : 0;
      return std::min(low + width * (wanted - below) / here, static_cast<double>(max));
    }
    below += here;
  }
  return static_cast<double>(max);
}

std::uint64_t HistogramSnapshot::count_below_power(unsigned exponent) const noexcept {
  const std::size_t end =
      exponent >= 64 ? buckets.size() : HistogramBuckets::index_of(std::uint64_t{1} << exponent);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < end; ++i) total += buckets[i];
  return total;
}

HistogramSnapshot Histogram::snapshot() const noexcept {
  HistogramSnapshot snapshot;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    snapshot.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    snapshot.count += snapshot.buckets[i];
  }
  snapshot.sum = sum_.load(std::memory_order_relaxed);
  snapshot.max = max_.load(std::memory_order_relaxed);
  return snapshot;
}

}  // namespace godwit::trace
