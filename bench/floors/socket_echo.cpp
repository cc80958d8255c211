// Blocking or spinning echo over a Unix or a TCP socket.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fail.hpp"
#include "fabric/fd.hpp"
#include "floors/floors.hpp"
#include "floors/pair.hpp"

namespace godwit::floors {
namespace {

Status exchange_error(const char* what) {
  return fail(ErrorCode::io, "socket echo: {}: {}", what, errno_text(errno));
}

// Reads one message; `flags` is MSG_DONTWAIT to spin, 0 to block. False at end of file.
Result<bool> read_message(int fd, std::vector<char>& message, int flags) {
  std::size_t have = 0;
  while (have < message.size()) {
    const ssize_t got = ::recv(fd, message.data() + have, message.size() - have, flags);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
    } else if (got == 0) {
      return false;
    } else if (errno != EAGAIN && errno != EINTR) {
      return tl::unexpected(exchange_error("recv").error());
    }
  }
  return true;
}

int flags_for(const SocketEchoOptions& options) {
  return options.waiting == Waiting::poll ? MSG_DONTWAIT : 0;
}

Status serve(int fd, const SocketEchoOptions& options) {
  std::vector<char> message(options.message_bytes);
  for (;;) {
    GODWIT_TRY(const bool more, read_message(fd, message, flags_for(options)));
    if (!more) return {};
    GODWIT_CHECK(send_all(fd, message.data(), message.size()));
  }
}

Result<Sample> ask(int fd, const SocketEchoOptions& options) {
  std::vector<char> message(options.message_bytes, 'x');
  RoundTrips times(options.run.rounds);
  const std::size_t last = options.run.warm_up_rounds + options.run.rounds;
  std::uint64_t begin_ns = now_ns();
  std::uint64_t sent_ns = begin_ns;
  for (std::size_t round = 1; round <= last; ++round) {
    GODWIT_CHECK(send_all(fd, message.data(), message.size()));
    GODWIT_TRY(const bool more, read_message(fd, message, flags_for(options)));
    if (!more) return fail(ErrorCode::io, "socket echo: the server left early");
    const std::uint64_t answered_ns = now_ns();
    if (round > options.run.warm_up_rounds) times.add(answered_ns - sent_ns);
    if (round == options.run.warm_up_rounds) begin_ns = answered_ns;
    sent_ns = answered_ns;
  }
  return times.summarise(sent_ns - begin_ns);
}

void send_at_once(int fd) {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_in loopback(in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Status serve_tcp(int peer_fd, const SocketEchoOptions& options) {
  const fabric::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return exchange_error("listen on loopback");
  }
  GODWIT_CHECK(send_all(peer_fd, &address.sin_port, sizeof address.sin_port));
  const fabric::Fd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (connection.get() < 0) return exchange_error("accept");
  send_at_once(connection.get());
  return serve(connection.get(), options);
}

Result<Sample> ask_tcp(int peer_fd, const SocketEchoOptions& options) {
  in_port_t port = 0;
  GODWIT_CHECK(receive_all(peer_fd, &port, sizeof port));
  const fabric::Fd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return tl::unexpected(exchange_error("connect to loopback").error());
  }
  send_at_once(connection.get());
  return ask(connection.get(), options);
}

}  // namespace

Result<Sample> measure_socket_echo(const SocketEchoOptions& options) {
  // The pair's own socket is the Unix socket measured; tcp uses it to tell the port.
  if (options.kind == SocketKind::tcp) {
    return run_pair(options.run, {.server = [&](int fd) { return serve_tcp(fd, options); },
                                  .client = [&](int fd) { return ask_tcp(fd, options); }});
  }
  return run_pair(options.run, {.server = [&](int fd) { return serve(fd, options); },
                                .client = [&](int fd) { return ask(fd, options); }});
}

}  // namespace godwit::floors
