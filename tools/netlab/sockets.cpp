#include "netlab/sockets.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace godwit::netlab {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int kReceiveBufferBytes = 8 << 20;

}  // namespace

fabric::Fd bound_socket(int type, std::uint16_t port) {
  fabric::Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  const int yes = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (type == SOCK_DGRAM) {
    // Forced where we may: what the kernel drops for want of space is not the link's loss.
    constexpr int kBytes = kReceiveBufferBytes;
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kBytes, sizeof kBytes);
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBytes, sizeof kBytes);
  }
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  if (type == SOCK_STREAM && ::listen(socket.get(), 4) != 0) return {};
  return socket;
}

fabric::Fd connected_socket(int type, const std::string& address, std::uint16_t port) {
  fabric::Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return {};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return {};
  return socket;
}

bool readable_by(int fd, steady_clock::time_point until) {
  while (true) {
    const nanoseconds left = std::max(nanoseconds(until - steady_clock::now()), nanoseconds(0));
    const timespec limit{.tv_sec = left.count() / 1'000'000'000,
                         .tv_nsec = left.count() % 1'000'000'000};
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::ppoll(&wait, 1, &limit, nullptr);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace godwit::netlab
