// Items in bulk, told as if so many bytes of them were a message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "floors/sample.hpp"

namespace godwit::bench {

[[nodiscard]] inline floors::Sample by_message(std::uint64_t bytes, std::size_t message_bytes,
                                               std::uint64_t took_ns) noexcept {
  const double messages = static_cast<double>(bytes) / static_cast<double>(message_bytes);
  floors::Sample sample;
  sample.rounds = static_cast<std::uint64_t>(messages);
  sample.rate_per_s = messages / (static_cast<double>(took_ns) * 1e-9);
  sample.mean_us = 1e6 / sample.rate_per_s;
  sample.p50_us = sample.mean_us;
  return sample;
}

}  // namespace godwit::bench
