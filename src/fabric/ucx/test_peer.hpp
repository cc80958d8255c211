// A process's worth of UCX transport for tests: a reactor, a transport, and what it reported.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {

class TestPeer final : public TransportEvents {
 public:
  struct Received {
    LinkId link;
    wire::Header header;
    Buffer body;
    bool discarded = false;
  };

  explicit TestPeer(UcxOptions options = {}) {
    options.self.node = random_node_id();
    options.self.epoch = {1};
    options.self.blob = "hello from " + to_hex(options.self.node.value);
    self = options.self;
    auto made_reactor = Reactor::create({.name = "test", .offload_threads = 1});
    if (!made_reactor) ADD_FAILURE() << made_reactor.error().message;
    reactor = std::move(*made_reactor);
    auto made = UcxTransport::create(*reactor, *this, std::move(options));
    if (!made) ADD_FAILURE() << made.error().message;
    transport = std::move(*made);
  }

  Address listen(std::string host = "127.0.0.1") {
    auto bound = transport->listen({.scheme = Address::Scheme::tcp, .host = std::move(host)});
    if (!bound) ADD_FAILURE() << bound.error().message;
    return *bound;
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
  void on_sent(LinkId, std::uint64_t tag) override {
    sent.push_back(tag);
    if (sent_handler) sent_handler(tag);
  }

  Hello self;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<UcxTransport> transport;
  std::map<LinkId, Hello> ups;
  std::map<LinkId, Error> downs;
  std::vector<Received> received;
  std::vector<std::uint64_t> sent;
  std::function<void(LinkId, Message&)> handler;
  std::function<void(std::uint64_t)> sent_handler;
};

// Runs the peers' reactors by turns on this thread until the condition holds.
inline testing::AssertionResult pump(const std::vector<TestPeer*>& peers,
                                     const std::function<bool()>& condition,
                                     std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return testing::AssertionFailure() << "the condition did not come true in time";
    }
    for (TestPeer* peer : peers) peer->reactor->run_once();
  }
  return testing::AssertionSuccess();
}

// Two peers with one link between them.
struct TestPair {
  explicit TestPair(UcxOptions server_options = {}, UcxOptions client_options = {})
      : server(std::move(server_options)), client(std::move(client_options)) {
    address = server.listen();
    client_link = client.connect(address);
    EXPECT_TRUE(pump([&] { return !client.ups.empty() && !server.ups.empty(); }));
    if (!server.ups.empty()) server_link = server.ups.begin()->first;
  }
  testing::AssertionResult pump(const std::function<bool()>& condition,
                                std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return ucx::pump({&server, &client}, condition, limit);
  }

  TestPeer server;
  TestPeer client;
  Address address;
  LinkId client_link;
  LinkId server_link;
};

// Make large ones before the link: a test that computes for seconds sends no heartbeats.
inline std::string pattern(std::size_t size, std::uint64_t seed = 1) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>((i * 31 + (i >> 12) * 7 + seed) & 0xFF);
  }
  return text;
}

}  // namespace godwit::fabric::ucx
