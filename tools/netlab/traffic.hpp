// Plain UDP and TCP traffic, to try links with. The functions block, so they belong into processes
// inside hosts; each of their waits ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "netlab/lab.hpp"

namespace godwit::netlab {

struct Peer {
  std::string address;
  std::uint16_t port = 0;
};

using Numbers = std::vector<std::uint64_t>;

// A function that runs in a host, and the numbers it comes to.
class Asked {
 public:
  [[nodiscard]] static Result<Asked> start(const Lab& lab, std::uint32_t host,
                                           const std::function<Numbers()>& body);
  // Once. Error: deadline; internal if the process ended without an answer.
  [[nodiscard]] Result<Numbers> get(std::chrono::milliseconds limit);

 private:
  Asked(Process process, fabric::Fd answer)
      : process_(std::move(process)), answer_(std::move(answer)) {}
  Process process_;
  fabric::Fd answer_;  // a pipe's end
};

// Sends back every datagram that comes, until it is killed.
int echo_datagrams(std::uint16_t port);

struct Pinging {
  std::size_t count = 100;
  std::size_t size_bytes = 64;               // of the payload
  std::chrono::milliseconds patience{1000};  // for one answer; the ping is lost then
};
// Round trips in ns, one after the other; those that were lost are missing. Waits for the echo to
// come up before it begins.
[[nodiscard]] Numbers ping(const Peer& peer, const Pinging& pinging);

struct Flood {
  std::size_t count = 0;
  std::size_t size_bytes = 64;      // of the payload
  std::chrono::nanoseconds gap{0};  // from the start of one datagram to that of the next
};
// Waits for count_datagrams() to come up before it begins. How many the kernel took: {count}.
[[nodiscard]] Numbers send_datagrams(const Peer& peer, const Flood& flood);
// Those that came, and the time from the first to the last: {count, ns}. Ends when `count` came, or
// when none has for `patience`.
[[nodiscard]] Numbers count_datagrams(std::uint16_t port, std::size_t count,
                                      std::chrono::milliseconds patience);

// Sends bytes of a known pattern over a connection: {how many were taken}.
[[nodiscard]] Numbers send_stream(const Peer& peer, std::size_t bytes,
                                  std::chrono::milliseconds patience);
// Takes one connection to its end: {bytes that came as sent, ns from its beginning to its end}.
[[nodiscard]] Numbers receive_stream(std::uint16_t port, std::chrono::milliseconds patience);

}  // namespace godwit::netlab
