// Socket addresses of Unix paths and tcp hosts.
#pragma once

#include <sys/socket.h>

#include <vector>

#include "fabric/address.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Longer Unix socket paths do not fit the system's structure.
inline constexpr std::size_t kMaxSocketPath = 107;

// Errors: bad_address (too long, with advice).
[[nodiscard]] Result<SocketAddress> unix_address(const Address& address);
// `numeric_only` never blocks, and finds nothing for host names. Errors: bad_address, unreachable.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve_tcp(const Address& address,
                                                             bool numeric_only);
// A non-blocking stream socket of the right family; tcp sends small frames at once.
[[nodiscard]] Result<Fd> open_socket(const SocketAddress& address);

}  // namespace godwit::fabric
