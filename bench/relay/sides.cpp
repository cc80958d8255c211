#include "relay/sides.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

#include "base/fail.hpp"
#include "fabric/relay/server.hpp"
#include "ref/wire.hpp"

namespace godwit::bench {
namespace {

using fabric::Address;
using fabric::Fd;
using fabric::Message;
using fabric::Reactor;

// Runs `live` in a child, which reports one number when it is ready.
Result<Side> start_side(const std::function<void(int report)>& live, std::uint64_t& reported) {
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorCode::io, "no pipe: {}", errno_text(errno));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::io, "no child: {}", errno_text(errno));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    live(to.get());
    ::_exit(1);
  }
  to.reset();
  Side side(child);
  GODWIT_CHECK(receive_value(from.get(), reported, Waiting::sleep));
  return side;
}

void serve_raw(int report) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (::bind(listener.get(), address, size) != 0 || ::listen(listener.get(), 1) != 0) return;
  ::getsockname(listener.get(), address, &size);
  if (!send_value(report, std::uint64_t{ntohs(name.sin_port)})) return;
  const Fd peer(::accept(listener.get(), nullptr, nullptr));
  const int on = 1;
  ::setsockopt(peer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<std::byte> into;
  RawOrder order;
  while (receive_value(peer.get(), order, Waiting::sleep)) {
    if (into.size() < order.bytes) into.resize(order.bytes);
    if (!receive_bytes(peer.get(), into.data(), order.bytes, Waiting::sleep)) return;
    if (!send_bytes(peer.get(), into.data(), order.echo)) return;
  }
}

Result<Fd> connect_raw(std::uint64_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return fail(ErrorCode::io, "no raw connection: {}", errno_text(errno));
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void serve_relay(int report, const trust::FleetKey& key) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto reactor = Reactor::create({.name = "relay", .spin_us = 0, .offload_threads = 1});
  if (!reactor) return;
  const auto server = fabric::relay::RelayServer::create(
      **reactor, {.listen = {.scheme = Address::Scheme::tcp, .host = "127.0.0.1"},
                  .key = trust::relay_key_of(key)});
  if (!server || !(*reactor)->start()) return;
  if (!send_value(report, std::uint64_t{(*server)->address().port})) return;
  while (true) ::pause();
}

// Answers every message with its header, and small bodies with themselves.
class Answering final : public fabric::TransportEvents {
 public:
  void on_up(LinkId, const fabric::Hello&) override {}
  void on_down(LinkId, const Error&) override {}
  void on_sent(LinkId, std::uint64_t) override {}
  void on_message(LinkId link, Message& message) override {
    const bool small = message.body().size() <= transport->small_limit();
    const Bytes body = small ? message.body() : Bytes{};
    (void)transport->send(link, message.header(), {&body, 1}, 0);
  }
  std::unique_ptr<fabric::relay::RelayTransport> transport;
};

void serve_peer(int report, const trust::FleetKey& key, const Address& relay) {
  const auto reactor = Reactor::create({.name = "peer", .offload_threads = 1});
  if (!reactor) return;
  Answering answering;
  fabric::relay::RelayOptions options;
  const NodeId self = random_node_id();
  options.hello = [self] { return fabric::Hello{self, {1}, "peer"}; };
  options.key = &key;
  options.heartbeat = kPatient;
  auto made = fabric::relay::RelayTransport::create(**reactor, answering, std::move(options));
  if (!made) return;
  answering.transport = *std::move(made);
  if (!answering.transport->listen(relay)) return;
  while (!answering.transport->is_enrolled()) (*reactor)->run_once();
  if (!(*reactor)->start() || !send_value(report, self.value)) return;
  while (true) ::pause();
}

}  // namespace

Side::~Side() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<Sides> Sides::start() {
  Sides sides;
  std::uint64_t port = 0;
  GODWIT_TRY(Side raw, start_side([](int report) { serve_raw(report); }, port));
  sides.processes.push_back(std::move(raw));
  GODWIT_TRY(sides.raw, connect_raw(port));
  GODWIT_TRY(Side relay, start_side([&](int report) { serve_relay(report, sides.key); }, port));
  sides.processes.push_back(std::move(relay));
  sides.relay = {.scheme = Address::Scheme::relay,
                 .host = "127.0.0.1",
                 .port = static_cast<std::uint16_t>(port)};
  GODWIT_TRY(Side peer, start_side([&](int report) { serve_peer(report, sides.key, sides.relay); },
                                   sides.peer));
  sides.processes.push_back(std::move(peer));
  return sides;
}

}  // namespace godwit::bench
