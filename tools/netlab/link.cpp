#include "netlab/link.hpp"

#include <algorithm>
#include <cmath>

namespace godwit::netlab {
namespace {

using std::chrono::nanoseconds;

nanoseconds nanoseconds_of(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
}

}  // namespace

std::optional<TimePoint> Link::depart(std::size_t size_bytes, TimePoint now) noexcept {
  if (shape_.rate_bytes_per_s == 0) return now;
  const auto rate = static_cast<double>(shape_.rate_bytes_per_s);
  const auto size = static_cast<double>(size_bytes);
  const TimePoint begins = std::max(now, free_at_);
  const double queued_bytes = std::chrono::duration<double>(begins - now).count() * rate;
  // A packet that finds nothing before it does not queue, however short the queue.
  if (begins > now && queued_bytes + size > static_cast<double>(shape_.queue_limit_bytes)) {
    return std::nullopt;
  }
  free_at_ = begins + nanoseconds_of(size / rate);
  return free_at_;
}

std::optional<TimePoint> Link::admit(std::size_t size_bytes, TimePoint now) noexcept {
  ++counters_.offered;
  counters_.offered_bytes += size_bytes;
  if (cut_) {
    ++counters_.cut;
    return std::nullopt;
  }
  if (random_.chance(shape_.loss)) {
    ++counters_.lost;
    return std::nullopt;
  }
  const auto departs = depart(size_bytes, now);
  if (!departs) {
    ++counters_.overflown;
    return std::nullopt;
  }
  TimePoint arrival = *departs + shape_.delay;
  if (shape_.jitter > nanoseconds(0)) {
    const auto spread = static_cast<std::uint64_t>(shape_.jitter.count()) + 1;
    arrival += nanoseconds(static_cast<std::int64_t>(random_.below(spread)));
  }
  if (!shape_.reorders) arrival = std::max(arrival, last_arrival_);
  last_arrival_ = std::max(arrival, last_arrival_);
  return arrival;
}

bool Link::arrives() noexcept {
  if (cut_) ++counters_.cut;
  return !cut_;
}

}  // namespace godwit::netlab
