// How one direction between two hosts of a lab behaves, and what it has done so far.
#pragma once

#include <chrono>
#include <cstdint>

#include "godwit/error.hpp"

namespace godwit::netlab {

struct LinkShape {
  std::chrono::nanoseconds delay{0};   // a packet is at least so long under way
  std::chrono::nanoseconds jitter{0};  // and up to so much longer, evenly spread
  double loss = 0;                     // fraction of packets that vanish, each on its own
  std::uint64_t rate_bytes_per_s = 0;  // of IP packets, headers included; 0: no limit
  // Packets wait here for a limited rate; one that would make the queue longer is dropped.
  std::uint64_t queue_limit_bytes = std::uint64_t{256} << 10U;
  // Whether jitter may let a packet overtake an earlier one. Wires do not, so the default is that
  // an early packet waits for the one before it.
  bool reorders = false;
};

inline constexpr std::chrono::nanoseconds kMaxDelay = std::chrono::seconds(60);  // and of jitter
inline constexpr std::uint64_t kMaxQueueLimitBytes = std::uint64_t{1} << 30U;

// Error: invalid_argument, naming the value that makes no sense.
[[nodiscard]] Status check(const LinkShape& shape);

// Packets of one direction. Every packet that was offered is in one of the others, or under way.
struct LinkCounters {
  std::uint64_t offered = 0;
  std::uint64_t offered_bytes = 0;
  std::uint64_t delivered = 0;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t lost = 0;       // as LinkShape::loss asks
  std::uint64_t overflown = 0;  // found the queue full
  std::uint64_t cut = 0;        // came to a link that was cut, or was under way when it was
  std::uint64_t crowded = 0;    // the lab held as many packets as it may (Switch)
  std::uint64_t refused = 0;    // the receiving host's kernel did not take it
};

}  // namespace godwit::netlab
