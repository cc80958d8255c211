// One direction between two hosts: decides of each packet whether and when it arrives.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/random.hpp"
#include "netlab/link_shape.hpp"

namespace godwit::netlab {

using TimePoint = std::chrono::steady_clock::time_point;

// A value without a clock or a thread: the same seed, shape and packets give the same fates.
class Link {
 public:
  Link(const LinkShape& shape, std::uint64_t seed) noexcept : shape_(shape), random_(seed) {}

  // For the packets that come from now on; those under way keep their time.
  void set_shape(const LinkShape& shape) noexcept { shape_ = shape; }
  void set_cut(bool cut) noexcept { cut_ = cut; }

  // When the packet arrives; nothing if it does not. `now` is that of the call before, or later.
  [[nodiscard]] std::optional<TimePoint> admit(std::size_t size_bytes, TimePoint now) noexcept;
  // To ask when the packet's time has come; false if the link was cut meanwhile.
  [[nodiscard]] bool arrives() noexcept;

  [[nodiscard]] LinkCounters& counters() noexcept { return counters_; }
  [[nodiscard]] const LinkCounters& counters() const noexcept { return counters_; }

 private:
  // When the packet's last byte has left through the limited rate; nothing if the queue is full.
  std::optional<TimePoint> depart(std::size_t size_bytes, TimePoint now) noexcept;

  LinkShape shape_;
  Random random_;
  LinkCounters counters_;
  TimePoint free_at_{};  // when what is queued has left
  TimePoint last_arrival_{};
  bool cut_ = false;
};

}  // namespace godwit::netlab
