// How often a value fell where: latencies and sizes, without keeping the samples.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace godwit::trace {

// Each power of two is split into four buckets, so that a quantile is off by at most an eighth of
// its value. Values below 4 have a bucket each.
struct HistogramBuckets {
  static constexpr std::size_t kPerOctave = 4;
  static constexpr std::size_t kCount = kPerOctave * 63;

  [[nodiscard]] static constexpr std::size_t index_of(std::uint64_t value) noexcept {
    if (value < kPerOctave) return static_cast<std::size_t>(value);
    const auto exponent = static_cast<std::size_t>(std::bit_width(value)) - 3;
    return exponent * kPerOctave + static_cast<std::size_t>(value >> exponent);
  }
  // The least value of a bucket.
  [[nodiscard]] static constexpr std::uint64_t lower_bound(std::size_t index) noexcept {
    if (index < kPerOctave) return index;
    const std::size_t exponent = index / kPerOctave - 1;
    return static_cast<std::uint64_t>(index % kPerOctave + kPerOctave) << exponent;
  }
};

// What a Histogram held at one moment.
struct HistogramSnapshot {
  std::array<std::uint64_t, HistogramBuckets::kCount> buckets{};
  std::uint64_t count = 0;
  std::uint64_t sum = 0;  // modulo 2^64
  std::uint64_t max = 0;

  // The value below which a share `q` of the samples lies, 0 <= q <= 1; 0 without samples.
  [[nodiscard]] double quantile(double q) const noexcept;
  // How many samples are below 2^exponent, exponent <= 64.
  [[nodiscard]] std::uint64_t count_below_power(unsigned exponent) const noexcept;
};

// Any thread may record() and take a snapshot(); neither locks. record() costs two atomic
// additions.
class Histogram {
 public:
  void record(std::uint64_t value) noexcept {
    buckets_[HistogramBuckets::index_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    std::uint64_t seen = max_.load(std::memory_order_relaxed);
    while (value > seen && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  // Samples recorded meanwhile may be in the buckets and not yet in the sum, or the reverse.
  [[nodiscard]] HistogramSnapshot snapshot() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, HistogramBuckets::kCount> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> max_{0};
};

}  // namespace godwit::trace
