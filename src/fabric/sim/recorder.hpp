// For the tests of this folder: a process that records what its transport tells it and checks that
// it keeps its contract.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/sim/world.hpp"

namespace godwit::fabric::sim {

// The fate of every message any recorder sent, by its header's id.
struct Ledger {
  struct Entry {
    LinkId link;
    ProcessId sender;
    Epoch sender_epoch;
    std::size_t size = 0;
    int delivered = 0;
  };
  std::map<std::uint64_t, Entry> messages;
  std::uint64_t next_id = 1;
  std::uint64_t discarded = 0;
};

class Recorder final : public TransportEvents {
 public:
  enum class Fate : std::uint8_t { asked, up, down };
  struct LinkRecord {
    Fate fate = Fate::asked;
    NodeId peer;
    Epoch peer_epoch;
    ErrorCode why = ErrorCode::none;
    std::size_t received = 0;
  };

  Recorder(World& world, ProcessId self, Ledger& ledger)
      : scheduler(world.scheduler(self)),
        self_(self),
        epoch_(world.epoch(self)),
        ledger_(ledger),
        transport(world.transport(self, *this)) {
    EXPECT_TRUE(transport->listen(world.address(self)).has_value());
  }

  LinkId connect(World& world, ProcessId to) {
    const auto link = transport->connect(world.address(to));
    EXPECT_TRUE(link.has_value());
    links[*link] = {};
    return *link;
  }

  // A body whose bytes follow from its id, so that the receiver can tell it is intact.
  static std::vector<std::byte> body_of(std::uint64_t id, std::size_t size) {
    std::vector<std::byte> body(size);
    for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = mix64(id + at);
      std::memcpy(body.data() + at, &word, std::min(sizeof word, size - at));
    }
    return body;
  }

  Sent send(LinkId link, std::size_t size) {
    const std::uint64_t id = ledger_.next_id++;
    std::vector<std::byte> body = body_of(id, size);
    const wire::Header header{.kind = wire::Kind::call, .id = id};
    const std::size_t half = size / 2;
    const std::array<Bytes, 2> parts{Bytes(body).first(half), Bytes(body).subspan(half)};
    const Sent sent = transport->send(link, header, parts, id);
    if (sent == Sent::down) return sent;
    ledger_.messages[id] = {link, self_, epoch_, size, 0};
    if (sent == Sent::later) {
      EXPECT_GT(size, transport->small_limit());
      borrowed[link].emplace(id, std::move(body));
    } else {
      std::fill(body.begin(), body.end(), std::byte{0xEE});  // the transport must have copied it
    }
    return sent;
  }

  void on_up(LinkId link, const Hello& peer) override {
    LinkRecord& record = links[link];
    EXPECT_EQ(record.fate, Fate::asked) << "up twice, or after down";
    record.fate = Fate::up;
    live_.push_back(link);
    record.peer = peer.node;
    record.peer_epoch = peer.epoch;
    if (when_up) when_up(link);
  }
  void on_down(LinkId link, const Error& why) override {
    const auto record = links.find(link);
    ASSERT_NE(record, links.end()) << "down without ever being known";
    EXPECT_NE(record->second.fate, Fate::down) << "down twice";
    record->second.fate = Fate::down;
    std::erase(live_, link);
    record->second.why = why.code;
    borrowed.erase(link);  // ours again: the memory goes away
    EXPECT_EQ(transport->send(link, {}, {}, 0), Sent::down);
  }
  void on_message(LinkId link, Message& message) override {
    ASSERT_EQ(links[link].fate, Fate::up) << "a message outside of the link's life";
    ++links[link].received;
    auto& entry = ledger_.messages[message.header().id];
    EXPECT_EQ(++entry.delivered, 1) << "delivered twice";
    if (message.body_discarded()) {
      ++ledger_.discarded;
      return;
    }
    const Buffer body = message.take_body();
    const auto expected = body_of(message.header().id, entry.size);
    EXPECT_TRUE(std::ranges::equal(body.view(), expected)) << "not intact";
    if (when_message) when_message(link);
  }
  void on_sent(LinkId link, std::uint64_t tag) override {
    EXPECT_EQ(borrowed[link].erase(tag), 1U) << "on_sent for what was not borrowed";
  }

  [[nodiscard]] const std::vector<LinkId>& live_links() const { return live_; }

  Scheduler& scheduler;
  std::map<LinkId, LinkRecord> links;
  std::map<LinkId, std::map<std::uint64_t, std::vector<std::byte>>> borrowed;
  std::function<void(LinkId)> when_up;
  std::function<void(LinkId)> when_message;

 private:
  ProcessId self_;
  Epoch epoch_;
  Ledger& ledger_;
  std::vector<LinkId> live_;

 public:
  std::unique_ptr<Transport> transport;
};

}  // namespace godwit::fabric::sim
