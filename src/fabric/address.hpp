// Where a node can be reached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/error.hpp"

namespace godwit::fabric {

// Text forms:
//   shm:/run/user/1000/godwit/n1.sock   a Unix socket on this host; messages go through shared
//   memory tcp:127.0.0.1:7400                  IPv4, [IPv6] or a host name; port 0 picks a free one
//   sim:17                              a node of a simulated world
//   relay:example.org:7443/00c0ffee00c0ffee  a node through a relay; without the id, any of them
struct Address {
  enum class Scheme : std::uint8_t { shm, tcp, sim, relay };

  Scheme scheme = Scheme::shm;
  std::string host;         // tcp, relay: without brackets; shm: the socket's path; sim: empty
  std::uint16_t port = 0;   // tcp, relay
  std::uint64_t index = 0;  // sim: a number; relay: a node's id, 0 for any

  [[nodiscard]] static Result<Address> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  // True for shm, sim, and tcp at 127.0.0.0/8, ::1 and "localhost": reachable from this host alone.
  [[nodiscard]] bool is_loopback() const;
  friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace godwit::fabric
