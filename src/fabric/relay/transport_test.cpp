#include "fabric/relay/transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "fabric/relay/test_peer.hpp"

namespace godwit::fabric::relay {
namespace {

TEST(RelayTransport, BothSidesLearnWhoTheOtherIs) {
  TestPair pair;
  ASSERT_EQ(pair.client.ups.size(), 1U);
  ASSERT_EQ(pair.server.ups.size(), 1U);
  EXPECT_EQ(pair.client.ups.at(pair.client_link).blob, pair.server.self.blob);
  EXPECT_EQ(pair.server.ups.at(pair.server_link).blob, pair.client.self.blob);
  EXPECT_EQ(pair.server.ups.at(pair.server_link).node, pair.client.self.node);
}

TEST(RelayTransport, AProcessCanHaveALinkWithItself) {
  TestRelay relay;
  TestPeer self;
  self.enrol(relay);
  ASSERT_TRUE(pump({&relay, &self}, [&] { return self.transport->is_enrolled(); }));
  const std::string large = pattern(70'000);
  const LinkId out = self.connect(self.address);
  ASSERT_TRUE(pump({&relay, &self}, [&] { return self.ups.size() == 2; }));
  ASSERT_EQ(self.send(out, {.id = 1}, "there"), Sent::now);
  ASSERT_EQ(self.send(out, {.id = 2}, large), Sent::later);
  ASSERT_TRUE(pump({&relay, &self}, [&] { return self.received.size() == 2; }));
  EXPECT_NE(self.received.front().link, out);
  self.transport->close(out);
  EXPECT_TRUE(pump({&relay, &self}, [&] { return self.downs.size() == 2; }));
}

TEST(RelayTransport, AnyNodeOfTheRelayCanBeAskedForExceptOneself) {
  TestRelay relay;
  TestPeer first;
  TestPeer second;
  for (TestPeer* peer : {&first, &second}) peer->enrol(relay);
  const std::vector<Turned*> all{&relay, &first, &second};
  ASSERT_TRUE(pump(all, [&] { return relay.server->nodes() == 2; }));
  for (std::size_t i = 1; i <= 4; ++i) {
    first.connect(relay.address());
    ASSERT_TRUE(pump(all, [&] { return first.ups.size() == i; }));
  }
  for (const auto& [link, peer] : first.ups) EXPECT_EQ(peer.node, second.self.node);
}

TEST(RelayTransport, MessagesOfEverySizeArriveIntact) {
  TestPair pair;
  std::vector<std::string> bodies;
  for (const std::size_t size : {0UL, 1UL, 8UL, 64UL, 4096UL, 9000UL, 65'535UL, 65'536UL, 65'537UL,
                                 131'071UL, 131'072UL, 131'073UL, 300'000UL, 5'000'000UL}) {
    bodies.push_back(pattern(size, size));
  }
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Sent sent =
        pair.client.send(pair.client_link,
                         {.kind = wire::Kind::call, .aux = 7, .id = i, .subject = 9}, bodies[i], i);
    const bool small = bodies[i].size() <= pair.client.transport->small_limit();
    EXPECT_EQ(sent, small ? Sent::now : Sent::later);
  }
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == bodies.size(); }));
  std::vector<bool> seen(bodies.size());
  for (const auto& message : pair.server.received) {
    EXPECT_EQ(message.link, pair.server_link);
    EXPECT_EQ(message.header.kind, wire::Kind::call);
    EXPECT_EQ(message.header.aux, 7U);
    EXPECT_EQ(message.header.subject, 9U);
    ASSERT_LT(message.header.id, bodies.size());
    EXPECT_FALSE(seen[message.header.id]);
    seen[message.header.id] = true;
    EXPECT_TRUE(text_of(message.body.view()) == bodies[message.header.id])
        << bodies[message.header.id].size() << " bytes came out different";
  }
}

TEST(RelayTransport, SeveralPartsArriveAsOneBody) {
  TestPair pair;
  const std::string large = pattern(200'000);
  for (const std::size_t count : {2UL, 3UL, 300UL}) {
    std::vector<std::string> texts;
    std::string whole;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(pattern(i * 37 % 5000, i));
    texts[1] = large;
    std::vector<Bytes> parts;
    for (const std::string& text : texts) {
      parts.push_back(bytes_of(text));
      whole += text;
    }
    pair.server.received.clear();
    pair.client.sent.clear();
    ASSERT_EQ(pair.client.transport->send(pair.client_link, {.id = count}, parts, count),
              Sent::later);
    ASSERT_TRUE(pair.pump([&] { return !pair.server.received.empty(); }));
    EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == whole) << count << " parts";
    EXPECT_TRUE(pair.pump([&] { return pair.client.sent == std::vector{std::uint64_t{count}}; }));
  }
}

TEST(RelayTransport, ALargeBodyIsBorrowedUntilOnSentAndLetsSmallOnesPass) {
  const std::string body = pattern(16 << 20);
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, body, 77), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return pair.relay.server->counters().links == 1; }));
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 2}, "small"), Sent::now);
  EXPECT_TRUE(pair.client.sent.empty());
  ASSERT_TRUE(
      pair.pump([&] { return pair.server.received.size() == 2 && !pair.client.sent.empty(); }));
  EXPECT_EQ(pair.client.sent, std::vector<std::uint64_t>{77});
  EXPECT_EQ(pair.server.received[0].header.id, 2U) << "the small one waited for the large one";
  EXPECT_TRUE(text_of(pair.server.received[1].body.view()) == body);
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
}

TEST(RelayTransport, ManyLargeBodiesTakeTurns) {
  TestPair pair;
  constexpr std::size_t kBodies = 3 * RelayTransport::kMaxStreams;
  const std::string body = pattern(400'000);
  for (std::uint64_t id = 0; id < kBodies; ++id) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = id}, body, id), Sent::later);
  }
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == kBodies; }));
  for (const auto& message : pair.server.received) {
    EXPECT_TRUE(text_of(message.body.view()) == body);
  }
}

TEST(RelayTransport, ABodyBeyondTheBudgetIsDiscardedButAnnounced) {
  RelayOptions small_budget;
  small_budget.inbound_budget_bytes = 1 << 20;
  TestPair pair(small_budget);
  const std::string too_large = pattern((1 << 20) + 1);
  const std::string fits = pattern(1 << 20);
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, too_large, 1), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
  EXPECT_TRUE(pair.server.received[0].discarded);
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 2}, fits, 2), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 2; }));
  EXPECT_TRUE(text_of(pair.server.received[1].body.view()) == fits);
  EXPECT_EQ(pair.server.transport->counters().discarded_bodies, 1U);
  EXPECT_TRUE(pair.server.downs.empty());
}

TEST(RelayTransport, APeerThatDoesNotPollGetsEverythingLater) {
  TestPair pair;
  constexpr std::size_t kCount = 10'000;  // more than the sockets between them hold
  const std::string body = pattern(2000);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body), Sent::now);
    if (i % 64 == 0) {
      pair.client.reactor->run_once();
      pair.relay.reactor->run_once();
    }
  }
  EXPECT_TRUE(pair.server.received.empty());
  std::vector<bool> seen(kCount);
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message& message) {
    ASSERT_LT(message.header().id, kCount);
    EXPECT_FALSE(seen[message.header().id]);
    seen[message.header().id] = true;
    EXPECT_TRUE(text_of(message.body()) == body);
    ++arrived;
  };
  EXPECT_TRUE(pair.pump([&] { return arrived == kCount; }));
}

TEST(RelayTransport, OnePollHandlesNoMoreThanItsBudget) {
  TestPair pair;
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
  }
  std::size_t most = 0;
  ASSERT_TRUE(pump({&pair.client, &pair.relay}, [&] {
    const std::size_t before = arrived;
    pair.server.transport->poll(3);
    most = std::max(most, arrived - before);
    if (arrived == before) pair.server.reactor->run_once();  // looks at the sockets
    return arrived == 100;
  }));
  EXPECT_EQ(most, 3U);
}

TEST(RelayTransport, SixteenLinksCarryTheirOwnMessages) {
  TestRelay relay;
  TestPeer server;
  server.enrol(relay);
  std::vector<std::unique_ptr<TestPeer>> clients;
  std::vector<Turned*> all{&relay, &server};
  ASSERT_TRUE(pump(all, [&] { return server.transport->is_enrolled(); }));
  std::vector<LinkId> links;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<TestPeer>());
    all.push_back(clients.back().get());
    links.push_back(clients.back()->connect(server.address));
  }
  server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    EXPECT_EQ(server.transport->send(link, message.header(), {&part, 1}, 0), Sent::now);
  };
  ASSERT_TRUE(pump(all, [&] {
    return std::all_of(clients.begin(), clients.end(), [](auto& c) { return c->ups.size() == 1; });
  }));
  for (std::size_t round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(clients[i]->send(links[i], {.id = i}, "from " + std::to_string(i)), Sent::now);
    }
  }
  ASSERT_TRUE(pump(all, [&] {
    return std::all_of(clients.begin(), clients.end(),
                       [](auto& c) { return c->received.size() == 50; });
  }));
  for (std::size_t i = 0; i < 16; ++i) {
    for (const auto& message : clients[i]->received) {
      EXPECT_EQ(message.header.id, i);
      EXPECT_EQ(text_of(message.body.view()), "from " + std::to_string(i));
    }
  }
  EXPECT_EQ(relay.server->links(), 16U);
}

TEST(RelayTransport, LinksBeyondTheLimitAreRefused) {
  RelayOptions one;
  one.max_links = 1;
  TestPair pair({}, one);
  const auto second = pair.client.transport->connect(pair.server.address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::resource_exhausted);
}

TEST(RelayTransport, WithoutAKeyThereIsNone) {
  Turned turned;
  struct NoEvents : TransportEvents {
    void on_up(LinkId, const Hello&) override {}
    void on_down(LinkId, const Error&) override {}
    void on_message(LinkId, Message&) override {}
    void on_sent(LinkId, std::uint64_t) override {}
  } events;
  EXPECT_EQ(RelayTransport::create(*turned.reactor, events, {}).error().code,
            ErrorCode::unauthorised);
}

TEST(RelayTransport, SleepingReactorsWakeForAMessage) {
  TestPair pair;
  std::atomic<int> arrived{0};
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  ASSERT_TRUE(pair.server.reactor->start());
  ASSERT_TRUE(pair.relay.reactor->start());
  for (int i = 0; i < 20; ++i) {
    // Nobody else has anything to do, so they sleep well before the next message.
    const auto quiet_until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    ASSERT_TRUE(
        pump({&pair.client}, [&] { return std::chrono::steady_clock::now() > quiet_until; }));
    ASSERT_EQ(pair.client.send(pair.client_link, {}, "wake up"), Sent::now);
    ASSERT_TRUE(pump({&pair.client}, [&] { return arrived == i + 1; }, std::chrono::seconds(2)));
  }
  pair.server.reactor->stop();
  pair.relay.reactor->stop();
}

TEST(RelayTransport, TwoThreadsPlayPingPongThroughAThird) {
  constexpr int kRounds = 200;
  TestPair pair;
  pair.server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    EXPECT_EQ(pair.server.transport->send(link, message.header(), {&part, 1}, 0), Sent::now);
  };
  int answers = 0;
  Waiter done;
  pair.client.handler = [&](LinkId link, Message& message) {
    if (++answers == kRounds) {
      done.complete();
      return;
    }
    const Bytes part = message.body();
    EXPECT_EQ(pair.client.transport->send(link, message.header(), {&part, 1}, 0), Sent::now);
  };
  ASSERT_EQ(pair.client.send(pair.client_link, {}, pattern(64)), Sent::now);
  for (Turned* one : std::vector<Turned*>{&pair.server, &pair.client, &pair.relay}) {
    ASSERT_TRUE(one->reactor->start());
  }
  EXPECT_TRUE(
      pair.client.reactor->wait(done, pair.client.reactor->now() + std::chrono::seconds(30)));
  for (Turned* one : std::vector<Turned*>{&pair.server, &pair.client, &pair.relay}) {
    one->reactor->stop();
  }
  EXPECT_EQ(answers, kRounds);
}

}  // namespace
}  // namespace godwit::fabric::relay
