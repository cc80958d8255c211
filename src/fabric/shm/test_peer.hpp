// One end of shm links in a test: a reactor, a transport and a record of its events.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/folder_for_test.hpp"
#include "fabric/shm/transport.hpp"

namespace godwit::fabric::shm {

// A directory for socket files that goes with its owner.
class ScratchDirectory {
 public:
  [[nodiscard]] Address socket(const std::string& name = "n.sock") const {
    return Address::parse("shm:" + (folder_ / name).string()).value();
  }

 private:
  TestFolder folder_;
};

// Bytes that differ from place to place and from seed to seed.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t x = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::size_t i = 0; i < size; i += sizeof x) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(bytes.data() + i, &x, std::min(sizeof x, size - i));
  }
  return bytes;
}

class Peer final : public TransportEvents {
 public:
  struct Received {
    LinkId link;
    wire::Header header;
    std::vector<std::byte> body;
    bool discarded = false;
  };

  struct WithDescriptors {
    LinkId link;
    wire::Header header;
    std::string body;
    std::vector<Fd> descriptors;
  };

  explicit Peer(ShmTransport::Options options = {}, Reactor::Options reactor_options = {}) {
    if (!options.hello) options.hello = [] { return Hello{NodeId{7}, Epoch{70}, "blob"}; };
    reactor = Reactor::create(std::move(reactor_options)).value();
    transport = ShmTransport::create(*reactor, *this, std::move(options)).value();
    EXPECT_TRUE(reactor->add(*transport));
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() override {
    reactor->stop();
    if (transport) reactor->remove(*transport);
  }

  void on_up(LinkId link, const Hello& hello) override {
    ups.push_back(link);
    hellos.push_back(hello);
  }
  void on_down(LinkId link, const Error& why) override { downs.emplace_back(link, why); }
  void on_message(LinkId link, Message& message) override {
    if (on_message_hook) {
      on_message_hook(link, message);
      return;
    }
    received.push_back({link,
                        message.header(),
                        {message.body().begin(), message.body().end()},
                        message.body_discarded()});
  }
  void on_sent(LinkId, std::uint64_t tag) override { sent.push_back(tag); }
  void on_descriptors(LinkId link, const wire::Header& header, Bytes body,
                      std::span<Fd> descriptors) override {
    EXPECT_NE(std::find(ups.begin(), ups.end(), link), ups.end()) << "before its link";
    ++descriptor_messages;
    descriptors_received.push_back({link,
                                    header,
                                    std::string(text_of(body)),
                                    {std::make_move_iterator(descriptors.begin()),
                                     std::make_move_iterator(descriptors.end())}});
  }

  Sent send(LinkId link, std::uint64_t id, Bytes body) {
    wire::Header header;
    header.kind = wire::Kind::call;
    header.id = id;
    return transport->send(link, header, {&body, 1}, id);
  }

  std::unique_ptr<Reactor> reactor;
  std::vector<LinkId> ups;
  std::vector<Hello> hellos;
  std::vector<std::pair<LinkId, Error>> downs;
  std::vector<Received> received;
  std::vector<std::uint64_t> sent;
  std::vector<WithDescriptors> descriptors_received;
  std::atomic<std::size_t> descriptor_messages{0};
  std::function<void(LinkId, Message&)> on_message_hook;
  std::unique_ptr<ShmTransport> transport;
};

// Drives the peers in turn from this thread until the condition holds or the time is up.
inline bool until(std::vector<Peer*> peers, const std::function<bool()>& condition,
                  std::chrono::milliseconds limit = std::chrono::milliseconds(20'000)) {
  const Time deadline = peers.front()->reactor->now() + limit;
  while (!condition()) {
    std::size_t work = 0;
    for (Peer* peer : peers) work += peer->reactor->run_once();
    if (work == 0) std::this_thread::yield();  // to the other process
    if (peers.front()->reactor->now() >= deadline) return condition();
  }
  return true;
}

}  // namespace godwit::fabric::shm
