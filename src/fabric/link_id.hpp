// How transports number their links, so that no two links of a process ever share a LinkId.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "fabric/address.hpp"

namespace godwit::fabric {

// scheme + 1 (8 bits) | serial (40 bits) | slot (16 bits). The slot finds the link in its
// transport's table without a search; the serial makes an old id of a reused slot miss.
[[nodiscard]] constexpr LinkId make_link_id(Address::Scheme scheme, std::uint64_t serial,
                                            std::uint16_t slot) noexcept {
  return {(static_cast<std::uint64_t>(scheme) + 1) << 56 | (serial & 0xFF'FFFF'FFFFU) << 16 | slot};
}
[[nodiscard]] constexpr std::uint16_t slot_of(LinkId link) noexcept {
  return static_cast<std::uint16_t>(link.value);
}

}  // namespace godwit::fabric
