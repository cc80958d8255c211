// What the sender of a large body says of it before it sends it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "base/bytes.hpp"

namespace godwit::fabric::ucx {

struct Offer {
  std::uint64_t size = 0;
  std::uint64_t stream = 0;
};
static_assert(sizeof(Offer) == 16);

// Nothing if these bytes are no offer: neither an empty body nor stream 0 is ever offered.
[[nodiscard]] inline std::optional<Offer> parse_offer(Bytes bytes) noexcept {
  Offer offer;
  if (bytes.size() != sizeof offer) return std::nullopt;
  std::memcpy(&offer, bytes.data(), sizeof offer);
  if (offer.size == 0 || offer.stream == 0) return std::nullopt;
  return offer;
}

}  // namespace godwit::fabric::ucx
