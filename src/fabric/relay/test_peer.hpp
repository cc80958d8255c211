// A relay, and processes' worth of transports that use it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/relay/server.hpp"
#include "fabric/relay/transport.hpp"

namespace godwit::fabric::relay {

inline const trust::FleetKey& test_key() {
  static const trust::FleetKey key = trust::FleetKey::generate();
  return key;
}

// Anything with a reactor that a test turns.
struct Turned {
  Turned() {
    auto made = Reactor::create({.name = "test", .offload_threads = 1});
    if (!made) ADD_FAILURE() << made.error().message;
    reactor = std::move(*made);
  }
  std::unique_ptr<Reactor> reactor;
};

struct TestRelay : Turned {
  explicit TestRelay(const std::function<void(RelayServerOptions&)>& change = {},
                     std::uint16_t port = 0) {
    std::signal(SIGPIPE, SIG_IGN);
    RelayServerOptions options{
        .listen = {.scheme = Address::Scheme::tcp, .host = "127.0.0.1", .port = port},
        .key = trust::relay_key_of(test_key())};
    if (change) change(options);
    auto made = RelayServer::create(*reactor, std::move(options));
    if (!made) ADD_FAILURE() << made.error().message;
    server = std::move(*made);
  }
  [[nodiscard]] Address address(std::uint64_t node = 0) const {
    Address address = server->address();
    address.scheme = Address::Scheme::relay;
    address.index = node;
    return address;
  }
  std::unique_ptr<RelayServer> server;
};

class TestPeer final : public Turned, public TransportEvents {
 public:
  struct Received {
    LinkId link;
    wire::Header header;
    Buffer body;
    bool discarded = false;
  };

  explicit TestPeer(RelayOptions options = {}) {
    self = {random_node_id(), {1}, {}};
    self.blob = "hello from " + to_hex(self.node.value);
    if (options.key == nullptr) options.key = &test_key();
    options.hello = [this] { return self; };
    options.on_notice = [this](const std::string& text) { notices.push_back(text); };
    auto made = RelayTransport::create(*reactor, *this, std::move(options));
    if (!made) ADD_FAILURE() << made.error().message;
    transport = std::move(*made);
  }

  void enrol(const TestRelay& relay) {
    auto bound = transport->listen(relay.address());
    if (!bound) ADD_FAILURE() << bound.error().message;
    address = *bound;
  }
  LinkId connect(const Address& to) {
    auto link = transport->connect(to);
    if (!link) ADD_FAILURE() << link.error().message;
    return *link;
  }
  Sent send(LinkId link, wire::Header header, std::string_view body, std::uint64_t tag = 0) {
    const Bytes part = bytes_of(body);
    return transport->send(link, header, {&part, 1}, tag);
  }

  void on_up(LinkId link, const Hello& peer) override { ups[link] = peer; }
  void on_down(LinkId link, const Error& why) override {
    EXPECT_TRUE(downs.emplace(link, why).second) << "on_down came twice";
  }
  void on_message(LinkId link, Message& message) override {
    EXPECT_TRUE(ups.contains(link)) << "a message came before on_up";
    EXPECT_FALSE(downs.contains(link)) << "a message came after on_down";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.body().data()) % 16, 0U);
    if (handler) {
      handler(link, message);
      return;
    }
    received.push_back({link, message.header(),
                        message.body_discarded() ? Buffer{} : message.take_body(),
                        message.body_discarded()});
  }
  void on_sent(LinkId, std::uint64_t tag) override { sent.push_back(tag); }

  Hello self;
  Address address;
  std::map<LinkId, Hello> ups;
  std::map<LinkId, Error> downs;
  std::vector<Received> received;
  std::vector<std::uint64_t> sent;
  std::vector<std::string> notices;
  std::function<void(LinkId, Message&)> handler;
  std::unique_ptr<RelayTransport> transport;
};

// Runs the reactors by turns on this thread until the condition holds.
inline testing::AssertionResult pump(const std::vector<Turned*>& all,
                                     const std::function<bool()>& condition,
                                     std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return testing::AssertionFailure() << "the condition did not come true in time";
    }
    for (Turned* one : all) one->reactor->run_once();
  }
  return testing::AssertionSuccess();
}

// Two peers with one link between them, through a relay.
struct TestPair {
  explicit TestPair(RelayOptions server_options = {}, RelayOptions client_options = {})
      : server(std::move(server_options)), client(std::move(client_options)) {
    server.enrol(relay);
    EXPECT_TRUE(pump([&] { return server.transport->is_enrolled(); }));
    client_link = client.connect(server.address);
    EXPECT_TRUE(pump([&] { return !client.ups.empty() && !server.ups.empty(); }));
    if (!server.ups.empty()) server_link = server.ups.begin()->first;
  }
  testing::AssertionResult pump(const std::function<bool()>& condition,
                                std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return relay::pump({&relay, &server, &client}, condition, limit);
  }

  TestRelay relay;
  TestPeer server;
  TestPeer client;
  LinkId client_link;
  LinkId server_link;
};

inline std::string pattern(std::size_t size, std::uint64_t seed = 1) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>((i * 31 + (i >> 12) * 7 + seed) & 0xFF);
  }
  return text;
}

}  // namespace godwit::fabric::relay
