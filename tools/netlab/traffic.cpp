#include "netlab/traffic.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "netlab/sockets.hpp"

namespace godwit::netlab {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

// A datagram of one byte asks whether anybody is there; echoes and counters send it back.
constexpr std::size_t kHelloBytes = 1;
constexpr milliseconds kHelloEvery{20};
constexpr milliseconds kHelloLimit{10'000};
constexpr std::size_t kMaxDatagramBytes = 65'536;

std::uint64_t ns_since(steady_clock::time_point begin) {
  return static_cast<std::uint64_t>(nanoseconds(steady_clock::now() - begin).count());
}

bool await_listener(int socket) {
  const auto until = steady_clock::now() + kHelloLimit;
  std::byte buffer[64]{};
  while (steady_clock::now() < until) {
    (void)::send(socket, buffer, kHelloBytes, 0);  // refused as long as nobody listens
    const auto next = steady_clock::now() + kHelloEvery;
    while (readable_by(socket, next)) {
      if (::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT) == kHelloBytes) return true;
    }
  }
  return false;
}

// Spins: a sleep is longer than most gaps.
void pace(steady_clock::time_point until) {
  while (steady_clock::now() < until) {
  }
}

}  // namespace

Result<Asked> Asked::start(const Lab& lab, std::uint32_t host,
                           const std::function<Numbers()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "cannot make a pipe: {}", errno_text(errno));
  }
  fabric::Fd ours(ends[0]);
  fabric::Fd theirs(ends[1]);
  GODWIT_TRY(Process process, lab.fork(host, [&] {
    ours.reset();
    const Numbers numbers = body();
    const auto bytes = std::as_bytes(std::span(numbers));
    return write_all(theirs.get(), bytes) ? 0 : 1;
  }));
  return Asked(std::move(process), std::move(ours));
}

Result<Numbers> Asked::get(milliseconds limit) {
  const auto until = steady_clock::now() + limit;
  std::vector<std::byte> bytes;
  while (true) {
    if (!readable_by(answer_.get(), until)) {
      return fail(ErrorCode::deadline, "process {} has not answered within {} ms", process_.pid(),
                  limit.count());
    }
    std::byte part[4096];
    const ssize_t size = ::read(answer_.get(), part, sizeof part);
    if (size <= 0) break;
    bytes.insert(bytes.end(), part, part + size);
  }
  GODWIT_TRY(const int code, process_.wait(limit));
  if (code != 0) {
    return fail(ErrorCode::internal, "process {} ended with {}", process_.pid(), code);
  }
  Numbers numbers(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::uint64_t));
  return numbers;
}

int echo_datagrams(std::uint16_t port) {
  const fabric::Fd socket = bound_socket(SOCK_DGRAM, port);
  if (!socket) return 1;
  std::vector<std::byte> buffer(kMaxDatagramBytes);
  while (true) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t size = ::recvfrom(socket.get(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&from), &length);
    if (size < 0) continue;
    (void)::sendto(socket.get(), buffer.data(), static_cast<std::size_t>(size), 0,
                   reinterpret_cast<const sockaddr*>(&from), length);
  }
}

Numbers ping(const Peer& peer, const Pinging& pinging) {
  const fabric::Fd socket = connected_socket(SOCK_DGRAM, peer.address, peer.port);
  Numbers round_trips;
  if (!socket || !await_listener(socket.get())) return round_trips;
  std::vector<std::byte> sent(std::max(pinging.size_bytes, sizeof(std::uint64_t)));
  std::vector<std::byte> received(sent.size());
  for (std::uint64_t number = 0; number < pinging.count; ++number) {
    std::memcpy(sent.data(), &number, sizeof number);
    const auto begin = steady_clock::now();
    (void)::send(socket.get(), sent.data(), sent.size(), 0);
    std::uint64_t answer = UINT64_MAX;
    while (answer != number && readable_by(socket.get(), begin + pinging.patience)) {
      const ssize_t size = ::recv(socket.get(), received.data(), received.size(), MSG_DONTWAIT);
      // Hellos that were answered twice, and late answers to earlier pings, are passed over.
      if (std::cmp_equal(size, sent.size())) std::memcpy(&answer, received.data(), sizeof answer);
    }
    if (answer == number) round_trips.push_back(ns_since(begin));
  }
  return round_trips;
}

Numbers send_datagrams(const Peer& peer, const Flood& flood) {
  const fabric::Fd socket = connected_socket(SOCK_DGRAM, peer.address, peer.port);
  if (!socket || !await_listener(socket.get())) return {0};
  const std::vector<std::byte> payload(std::max(flood.size_bytes, kHelloBytes + 1));
  std::uint64_t taken = 0;
  auto next = steady_clock::now();
  for (std::size_t i = 0; i < flood.count; ++i, next += flood.gap) {
    pace(next);
    if (std::cmp_equal(::send(socket.get(), payload.data(), payload.size(), 0), payload.size())) {
      ++taken;
    }
  }
  return {taken};
}

Numbers count_datagrams(std::uint16_t port, std::size_t count, milliseconds patience) {
  const fabric::Fd socket = bound_socket(SOCK_DGRAM, port);
  if (!socket) return {0, 0};
  std::vector<std::byte> buffer(kMaxDatagramBytes);
  std::uint64_t seen = 0;
  steady_clock::time_point first{};
  steady_clock::time_point last{};
  while (seen < count && readable_by(socket.get(), steady_clock::now() + patience)) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t size = ::recvfrom(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                    reinterpret_cast<sockaddr*>(&from), &length);
    if (size == kHelloBytes) {
      (void)::sendto(socket.get(), buffer.data(), kHelloBytes, 0,
                     reinterpret_cast<const sockaddr*>(&from), length);
    } else if (size > 0) {
      last = steady_clock::now();
      if (seen++ == 0) first = last;
    }
  }
  return {seen, static_cast<std::uint64_t>(nanoseconds(last - first).count())};
}

}  // namespace godwit::netlab
