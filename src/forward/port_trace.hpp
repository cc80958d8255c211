// When a rank did what: spans in a ring of events, if its exchange is traced; else nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
      trace_->ring_->record(name_, static_cast<std::uint32_t>(worker_), begin_, now() - begin_,
                            items_);
    }
    void count(std::uint64_t items) noexcept { items_ += items; }

   private:
    PortTrace* trace_;
    std::string_view name_;
    std::size_t worker_;
    Time begin_{};
    std::uint64_t items_ = 0;
  };

  // All that is known, as a part of a file that Perfetto opens; empty if nothing is kept.
  [[nodiscard]] std::string events_of(Rank rank) const {
    if (!ring_) return {};
    return trace::chrome_trace_events(
        {.pid = static_cast<std::uint32_t>(rank), .name = "rank " + std::to_string(rank)},
        ring_->snapshot());
  }

 private:
  [[nodiscard]] static Time now() noexcept {
    return {std::chrono::steady_clock::now().time_since_epoch().count()};
  }
  std::optional<trace::EventRing> ring_;
};

}  // namespace godwit::forward
