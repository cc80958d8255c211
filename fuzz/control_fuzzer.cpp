// A control socket's stream from anybody who can connect: frames, heartbeats and chunks, cut into
// any pieces; a server's half of setting a link up; and the hello of a client that proved itself.
//
// Input: one byte chooses which of the three, and for the first the size of the pieces; the rest is
// the stream, or the hello.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fabric/control/link_setup.hpp"
#include "fabric/control/socket.hpp"
#include "trust/handshake.hpp"

namespace {

using namespace godwit;
using namespace godwit::fabric;

constexpr std::size_t kMaxStream = 256 * 1024;

void require(bool condition) {
  if (!condition) std::abort();
}

// Has room for chunks of the streams 1 to 3, as a transport with three bodies on their way would.
struct Receiver final : ControlEvents {
  void on_frame(Bytes frame, std::vector<Fd>& fds) override {
    require(!closed && !frame.empty() && frame.size() <= ControlSocket::kMaxFrameSize);
    require(fds.empty());
  }
  MutableBytes on_chunk(std::uint64_t stream, std::size_t size) override {
    require(!closed && !in_chunk && size > 0 && size <= ControlSocket::kMaxChunkSize);
    if (stream == 0 || stream > 3) return {};
    in_chunk = true;
    room = std::make_unique<std::byte[]>(size);  // as large as asked: the sanitizer sees its end
    return {room.get(), size};
  }
  void on_chunk_end(std::uint64_t stream) override {
    require(in_chunk && stream >= 1 && stream <= 3);
    in_chunk = false;
  }
  void on_closed(const Error&) override {
    require(!closed);
    closed = true;
  }

  std::unique_ptr<std::byte[]> room;
  bool in_chunk = false;
  bool closed = false;
};

// Two ends of a tcp connection over loopback: on Unix sockets there are no chunks.
std::array<Fd, 2> connected_pair() {
  static const Fd listener = [] {
    Fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::bind(made.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
    require(::listen(made.get(), 1) == 0);
    return made;
  }();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  require(::getsockname(listener.get(), generic, &size) == 0);
  Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The fuzzer's own timer interrupts it now and then; it goes on by itself.
  while (::connect(client.get(), generic, size) != 0 && errno != EISCONN) {
    if (errno == EINTR || errno == EALREADY) continue;
    std::perror("control_fuzzer: connect");
    std::abort();
  }
  // Thousands of connections a second would use up the ports if each lingered.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  require(::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
  int accepted = -1;
  do {
    accepted = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
  } while (accepted < 0 && errno == EINTR);
  if (accepted < 0) std::perror("control_fuzzer: accept4");
  require(accepted >= 0);
  return {std::move(client), Fd(accepted)};
}

void feed_socket(Reactor& reactor, Bytes stream, std::size_t piece) {
  auto [peer, mine] = connected_pair();
  Receiver receiver;
  const auto socket = ControlSocket::adopt(reactor, std::move(mine), "peer", &receiver);
  require(socket.has_value());
  const auto read_all = [&] {
    reactor.try_run_as_owner([&] {
      while ((*socket)->move_chunks(true)) continue;
    });
    reactor.run_once();
  };
  while (!stream.empty() && !receiver.closed) {
    const Bytes now = stream.first(std::min(piece, stream.size()));
    const ssize_t sent = ::send(peer.get(), now.data(), now.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) break;
    stream = stream.subspan(static_cast<std::size_t>(sent));
    read_all();
  }
  peer.reset();
  // The kernel of a busy machine takes its time to pass the end on.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!receiver.closed && std::chrono::steady_clock::now() < until) read_all();
  require(receiver.closed && !(*socket)->is_open());
}

// A server's half of a set-up. It ends by itself: with its peer, or after its timeout.
class Server {
 public:
  Server(Reactor& reactor, Fd mine) : reactor_(reactor) {
    auto socket = ControlSocket::adopt(reactor, std::move(mine), "peer", nullptr);
    require(socket.has_value());
    setup_ = LinkSetup::as_server(
        reactor, *std::move(socket), {},
        [](Established&) -> Result<SetupPayload> { return SetupPayload{}; },
        [this](const Result<Established>& link) {
          ++ends_;
          linked_ = link.has_value();
        });
  }
  [[nodiscard]] bool makes_a_link() {
    while (ends_ == 0) reactor_.run_once();
    require(ends_ == 1);
    return linked_;
  }

 private:
  Reactor& reactor_;
  int ends_ = 0;
  bool linked_ = false;
  std::unique_ptr<LinkSetup> setup_;
};

std::array<Fd, 2> unix_pair() {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

void feed_setup(Reactor& reactor, Bytes stream) {
  auto [peer, mine] = unix_pair();
  Server server(reactor, std::move(mine));
  static_cast<void>(::send(peer.get(), stream.data(), stream.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(peer.get(), SHUT_WR);
  require(!server.makes_a_link());  // nobody guesses a proof
}

// Shakes hands as it should, with a hello of its own making.
struct Client final : ControlEvents {
  explicit Client(std::string_view hello)
      : handshake(trust::Handshake::as_client({}, std::string(hello))) {}
  void on_frame(Bytes frame, std::vector<Fd>&) override {
    const auto step = handshake.receive(frame);
    if (step && step->next == trust::Handshake::Next::send) socket->send(bytes_of(step->frame));
  }
  void on_closed(const Error&) override {}

  trust::Handshake handshake;
  std::unique_ptr<ControlSocket> socket;
};

void say_hello(Reactor& reactor, Bytes hello) {
  auto [peer, mine] = unix_pair();
  Server server(reactor, std::move(mine));
  Client client(text_of(hello));
  auto socket = ControlSocket::adopt(reactor, std::move(peer), "server", &client);
  require(socket.has_value());
  client.socket = *std::move(socket);
  client.socket->send(bytes_of(client.handshake.offer()));
  const bool linked = server.makes_a_link();
  require(!linked || hello.size() >= 20);  // a hello's fixed part
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxStream) return 0;
  static const auto reactor = Reactor::create({.spin_us = 0}).value();
  const Bytes stream = std::as_bytes(std::span(data, size)).subspan(1);
  // Many tiny pieces only cost time.
  const std::size_t piece = std::max<std::size_t>((data[0] / 3) * 97U, stream.size() / 16 + 1);
  switch (data[0] % 3) {
    case 0: feed_socket(*reactor, stream, piece); break;
    case 1: feed_setup(*reactor, stream); break;
    default: say_hello(*reactor, stream.first(std::min(stream.size(), trust::kMaxHelloSize)));
  }
  return 0;
}
