// What the engine of one process tells the other's while a link is made; carried as Hello::blob.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "godwit/error.hpp"

namespace godwit::wire {

struct PeerHello {
  std::uint32_t credits = 0;  // calls the other side may have outstanding on this link
  bool serves = false;        // takes calls; false for a pure client
  std::string name;           // for people
  std::string record;         // the node's fleet record; empty for a client
};

constexpr std::size_t kMaxNodeName = 256;

[[nodiscard]] std::string encode(const PeerHello& hello);
[[nodiscard]] Result<PeerHello> parse_peer_hello(std::string_view blob);

}  // namespace godwit::wire
