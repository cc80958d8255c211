// When a rank did what: spans and marks in a ring of events, if its exchange is traced; else
// nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/export.hpp"
#include "godwit/kernel.hpp"
#include "trace/chrome_trace.hpp"
#include "trace/events.hpp"

namespace godwit::forward {

class PortTrace {
 public:
  // Of the last `events` events; 0: none are kept.
  explicit PortTrace(std::size_t events) {
    if (events > 0) ring_.emplace(events);
  }

  // From here to the end of its scope, on the line of one worker.
  class Span {
   public:
    Span(PortTrace& trace, std::string_view name, std::size_t worker) noexcept
        : trace_(trace.ring_ ? &trace : nullptr), name_(name), worker_(worker) {
      if (trace_ != nullptr) begin_ = now();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    ~Span() {
      if (trace_ == nullptr) return;
      trace_->record(name_, worker_, {.begin = begin_, .lasted = now() - begin_, .items = items_});
    }
    void count(std::uint64_t items) noexcept { items_ += items; }

   private:
    PortTrace* trace_;
    std::string_view name_;
    std::size_t worker_;
    Time begin_{};
    std::uint64_t items_ = 0;
  };

  [[nodiscard]] bool is_on() const noexcept { return ring_.has_value(); }
  // What was timed otherwise.
  struct Timed {
    Time begin{};
    Duration lasted{};
    std::uint64_t items = 0;
  };
  // Out of line: the GPU's library records too, and the ring's own functions are hidden from it.
  GODWIT_API void record(std::string_view name, std::size_t worker, const Timed& timed) noexcept;
  // How much a rank has needed at most of something, each time that it is more.
  class Mark {
   public:
    explicit Mark(std::string_view name) : name_(name) {}
    void rise_to(PortTrace& trace, std::uint64_t value) noexcept {
      if (value <= highest_ || !trace.is_on()) return;
      highest_ = value;
      trace.record(name_, 0, {.begin = now(), .items = value});
    }

   private:
    std::string_view name_;
    std::uint64_t highest_ = 0;
  };

  // All that is known, as a part of a file that Perfetto opens; empty if nothing is kept.
  [[nodiscard]] std::string events_of(Rank rank) const {
    if (!ring_) return {};
    return trace::chrome_trace_events(
        {.pid = static_cast<std::uint32_t>(rank), .name = "rank " + std::to_string(rank)},
        ring_->snapshot());
  }

  [[nodiscard]] static Time now() noexcept {
    return {std::chrono::steady_clock::now().time_since_epoch().count()};
  }

 private:
  std::optional<trace::EventRing> ring_;
};

}  // namespace godwit::forward
