// What happened lately: a ring of events that costs little to keep and is read when asked for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.hpp"

namespace godwit::trace {

struct Event {
  static constexpr std::size_t kNameLimit = 24;  // longer names are cut

  std::string name{};
  // Where it is drawn: one line per track, for instance a thread or a link.
  std::uint32_t track = 0;
  Time start{};
  Duration duration{0};  // zero: an instant
  std::uint64_t argument = 0;
};

// Keeps the last capacity() events. record() takes no lock and never waits; any thread. An event
// whose slot is being written at that moment (a writer was overtaken by a whole round) is dropped
// and counted.
class EventRing {
 public:
  // Rounded up to a power of two, at most kMaxCapacity. An event takes 64 bytes.
  explicit EventRing(std::size_t capacity = 4096);
  static constexpr std::size_t kMaxCapacity = std::size_t{1} << 20;

  void record(std::string_view name, std::uint32_t track, Time start, Duration duration,
              std::uint64_t argument = 0) noexcept;

  // The events that are complete at this moment, oldest first. Any thread.
  [[nodiscard]] std::vector<Event> snapshot() const;
  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kNameWords = Event::kNameLimit / sizeof(std::uint64_t);
  using Word = std::atomic<std::uint64_t>;
  // Words are written with release and read with acquire: who reads any part of a newer event also
  // sees the turn that began it, and so knows to discard what it read.
  struct alignas(64) Slot {
    Word turn{0};  // 2 * (index + 1) when complete, odd while being written, 0 when never used
    Word start{0};
    Word duration{0};
    Word track{0};
    Word argument{0};
    std::array<Word, kNameWords> name{};
  };
  static_assert(sizeof(Slot) == 64);

  std::size_t mask_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

// Records the time between its construction and its end. With a null ring it does nothing and does
// not look at the clock. Ring, clock and name must outlive it.
class Span {
 public:
  Span(EventRing* ring, const Clock& clock, std::string_view name, std::uint32_t track) noexcept
      : ring_(ring), clock_(clock), name_(name), track_(track) {
    if (ring_ != nullptr) start_ = clock_.now();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() {
    if (ring_ != nullptr) ring_->record(name_, track_, start_, clock_.now() - start_, argument_);
  }
  void set_argument(std::uint64_t argument) noexcept { argument_ = argument; }

 private:
  EventRing* ring_;
  const Clock& clock_;
  std::string_view name_;
  std::uint32_t track_;
  Time start_;
  std::uint64_t argument_ = 0;
};

}  // namespace godwit::trace
