// What can be asked of a floor. All structs are trivially copyable: ForkServer sends them as bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace godwit::floors {

// How a side waits for its next message.
enum class Waiting : std::uint8_t {
  poll,   // spins; needs a core to itself
  sleep,  // blocks in the kernel (wake-up feature, blocking read)
};

// What every floor needs to know.
struct RunOptions {
  std::size_t rounds = 20'000;
  std::size_t warm_up_rounds = 1'000;
  // Both processes are killed after this long, and the measurement fails.
  unsigned limit_s = 60;
  // Core numbers to pin to; -1 leaves a side unpinned.
  int client_core = 0;
  int server_core = 1;
};

enum class UcpTls : std::uint8_t { posix, sysv, tcp };  // posix and sysv come with cma; tcp is lo

struct UcpAmOptions {
  RunOptions run{};
  UcpTls tls = UcpTls::posix;
  std::size_t header_bytes = 32;
  std::size_t payload_bytes = 64;
  // kEcho: the server answers with the payload it got; otherwise with that many bytes of its own.
  std::size_t reply_bytes = kEcho;
  std::size_t window = 1;  // messages in flight
  Waiting waiting = Waiting::poll;
  // UCP_ERR_HANDLING_MODE_PEER, as Godwit's links have it. tcp only: shm endpoints refuse it.
  bool peer_errors = false;

  static constexpr std::size_t kEcho = SIZE_MAX;
  static constexpr std::size_t kMaxWindow = 1024;
  static constexpr std::size_t kMaxBytesInFlight = std::size_t{1} << 31;
};

struct SharedFlagOptions {
  RunOptions run{.rounds = 200'000, .warm_up_rounds = 10'000};
  // 56: payload and flag share one cache line; 64: the flag has a line of its own.
  std::size_t payload_bytes = 56;
};

enum class SocketKind : std::uint8_t { unix_stream, tcp };

struct SocketEchoOptions {
  RunOptions run{};
  SocketKind kind = SocketKind::unix_stream;
  std::size_t message_bytes = 96;
  Waiting waiting = Waiting::sleep;  // poll: non-blocking reads in a loop
};

// Processes that follow a list by raw active messages: one client, and `nodes` servers with equal
// runs of it.
struct UcpChaseOptions {
  RunOptions run{.rounds = 500, .warm_up_rounds = 50, .client_core = -1, .server_core = -1};
  UcpTls tls = UcpTls::tcp;
  std::size_t nodes = 4;
  std::uint64_t elements = std::uint64_t{1} << 18U;  // a power of two
  std::uint64_t depth = 64;                          // steps of one chase
  std::size_t window = 1;                            // chases in flight
  // After so long no more chases begin, and fewer than `rounds` are measured.
  std::uint64_t enough_ns = UINT64_MAX;
  // false: a server makes one step and answers the client, which asks for the next.
  bool travels = true;

  static constexpr std::size_t kMaxNodes = 16;
  static constexpr std::size_t kMaxWindow = 4096;
};

}  // namespace godwit::floors
