// The TCP part of traffic.hpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "netlab/sockets.hpp"
#include "netlab/traffic.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kPeriodBytes = 251;  // no divisor of any buffer's size
constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;
constexpr milliseconds kConnectEvery{20};

// The pattern from any offset is the block from its remainder.
std::vector<std::byte> make_pattern() {
  std::vector<std::byte> pattern(kBlockBytes + kPeriodBytes);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = std::byte(i % kPeriodBytes);
  return pattern;
}

timeval timeval_of(milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

fabric::Fd connect_within(const Peer& peer, milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  while (true) {
    fabric::Fd socket = connected_socket(SOCK_STREAM, peer.address, peer.port);
    if (socket || steady_clock::now() >= until) return socket;
    (void)readable_by(-1, steady_clock::now() + kConnectEvery);
  }
}

}  // namespace

Numbers send_stream(const Peer& peer, std::size_t bytes, milliseconds patience) {
  const fabric::Fd socket = connect_within(peer, patience);
  if (!socket) return {0};
  const timeval limit = timeval_of(patience);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const std::vector<std::byte> pattern = make_pattern();
  std::size_t sent = 0;
  while (sent < bytes) {
    const std::byte* const from = pattern.data() + sent % kPeriodBytes;
    const ssize_t size =
        ::send(socket.get(), from, std::min(kBlockBytes, bytes - sent), MSG_NOSIGNAL);
    if (size <= 0) break;
    sent += static_cast<std::size_t>(size);
  }
  return {sent};
}

Numbers receive_stream(std::uint16_t port, milliseconds patience) {
  const fabric::Fd listener = bound_socket(SOCK_STREAM, port);
  if (!listener || !readable_by(listener.get(), steady_clock::now() + patience)) return {0, 0};
  const fabric::Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto begin = steady_clock::now();
  const std::vector<std::byte> pattern = make_pattern();
  std::vector<std::byte> buffer(kBlockBytes);
  std::size_t received = 0;
  while (readable_by(socket.get(), steady_clock::now() + patience)) {
    const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size <= 0) break;
    const auto count = static_cast<std::size_t>(size);
    if (std::memcmp(buffer.data(), pattern.data() + received % kPeriodBytes, count) != 0) break;
    received += count;
  }
  return {received, static_cast<std::uint64_t>(nanoseconds(steady_clock::now() - begin).count())};
}

}  // namespace godwit::netlab
