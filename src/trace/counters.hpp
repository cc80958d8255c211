// Numbers a process keeps about itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/histogram.hpp"

namespace godwit::trace {

// Only grows. Any thread; an addition is one relaxed atomic instruction on a cache line of its own.
class alignas(64) Counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Goes up and down: queue lengths, bytes in use. Any thread.
class alignas(64) Gauge {
 public:
  void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t amount) noexcept { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> value_{0};
};

// One number (or distribution) as it was when the snapshot was taken.
struct Sample {
  std::string name;  // with labels, if any
  std::string help;
  std::variant<std::uint64_t, std::int64_t, HistogramSnapshot> value;
};

// Owns counters, gauges and histograms by name.
//
// A name is [a-z_][a-z0-9_]*, unit last ("load_time_ns"), optionally with labels as Prometheus
// writes them: calls_ended{outcome="ok"}. Asking for a name again gives the same object; it lives
// as long as the set. Look them up once, at construction, and keep the reference: a look-up takes a
// lock. Any thread.
class CounterSet {
 public:
  // Beyond this many names further ones share one unnamed object per kind, and the sample
  // "counter_names_dropped" says how often that happened.
  static constexpr std::size_t kMaxNames = 1024;

  CounterSet() = default;
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  // A name already taken by another kind counts as one beyond the limit.
  [[nodiscard]] Counter& counter(std::string_view name, std::string_view help);
  [[nodiscard]] Gauge& gauge(std::string_view name, std::string_view help);
  [[nodiscard]] Histogram& histogram(std::string_view name, std::string_view help);

  // All of them, by name.
  [[nodiscard]] std::vector<Sample> snapshot() const;

 private:
  struct Entry {
    std::string help;
    std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>>
        object;
  };
  template <class Object>
  Object& find_or_add(std::string_view name, std::string_view help, Object& spare);

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  Counter names_dropped_;
  Counter spare_counter_;
  Gauge spare_gauge_;
  Histogram spare_histogram_;
};

}  // namespace godwit::trace
