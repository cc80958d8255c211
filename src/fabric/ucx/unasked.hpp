// Bodies that leave without having been asked for: what a link has of them, and what is said ahead
// of each (unasked.cpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/bytes.hpp"
#include "base/scheduler.hpp"
#include "fabric/ucx/offer.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::ucx {

// How many bytes a link may have on their way so, in each direction: memory that a receiver has for
// every peer, beyond what it grants by answering offers. Several items of a stream, or pieces of an
// object, and more than a socket buffers.
inline constexpr std::uint64_t kUnaskedWindow = std::uint64_t{16} << 20;
// Smaller ones would be many.
inline constexpr std::uint64_t kLeastUnasked = std::uint64_t{32} << 10;
// Told together, so that not every body costs a message back.
inline constexpr std::uint64_t kToldTogether = kUnaskedWindow / 4;
// After a body, the receiver looks for the next one at each poll for so long.
inline constexpr Duration kNextBodyWithin = std::chrono::milliseconds(1);

// The message that follows in chunks.
struct Notice {
  wire::Header header;
  Offer body;
};
static_assert(sizeof(Notice) == 48);

// Nothing if these bytes are no notice, or of a body that may not come unasked.
[[nodiscard]] inline std::optional<Notice> parse_notice(Bytes bytes) noexcept {
  Notice notice;
  if (bytes.size() != sizeof notice) return std::nullopt;
  std::memcpy(&notice, bytes.data(), sizeof notice);
  const Offer& body = notice.body;
  if (body.stream == 0 || body.size < kLeastUnasked || body.size > kUnaskedWindow) {
    return std::nullopt;
  }
  return notice;
}

struct UnaskedOut {
  bool allowed = false;                   // the peer takes them
  std::uint64_t window = kUnaskedWindow;  // bytes that may leave yet
  std::uint64_t bodies = 0;               // sent so, ever
  Time latest;                            // when one was sent
};

struct UnaskedIn {
  std::uint64_t bytes = 0;       // announced, and the peer does not know yet that they are taken
  std::uint64_t delivered = 0;   // of those
  std::uint64_t bodies = 0;      // announced, ever
  std::uint64_t before_bye = 0;  // as many have to be there before the peer's bye counts
  Time expected_until;
};

}  // namespace godwit::fabric::ucx
