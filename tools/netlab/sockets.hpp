// The socket calls that traffic consists of. All sockets are IPv4.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "fabric/fd.hpp"

namespace godwit::netlab {

// On every address of the host, datagrams with a large receive buffer; none if that fails.
[[nodiscard]] fabric::Fd bound_socket(int type, std::uint16_t port);
// None if it cannot be connected.
[[nodiscard]] fabric::Fd connected_socket(int type, const std::string& address, std::uint16_t port);
// Whether there is something to read, or the end, before the time.
[[nodiscard]] bool readable_by(int fd, std::chrono::steady_clock::time_point until);

}  // namespace godwit::netlab
