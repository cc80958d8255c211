#include "fabric/ucx/transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

TEST(UcxTransport, BothSidesLearnWhoTheOtherIs) {
  TestPair pair;
  ASSERT_EQ(pair.client.ups.size(), 1U);
  ASSERT_EQ(pair.server.ups.size(), 1U);
  EXPECT_EQ(pair.client.ups.at(pair.client_link).blob, pair.server.self.blob);
  EXPECT_EQ(pair.server.ups.at(pair.server_link).blob, pair.client.self.blob);
  EXPECT_EQ(pair.server.ups.at(pair.server_link).node, pair.client.self.node);
}

// A node may be its own peer: mobile code calls whatever node a thing is on.
TEST(UcxTransport, AProcessCanHaveALinkWithItself) {
  TestPeer self;
  const LinkId out = self.connect(self.listen());
  ASSERT_TRUE(pump({&self}, [&] { return self.ups.size() == 2; }));
  const std::string large = pattern(1'000'000);
  ASSERT_NE(self.send(out, {.id = 1}, "there"), Sent::down);
  ASSERT_NE(self.send(out, {.id = 2}, "and there"), Sent::down);
  ASSERT_NE(self.send(out, {.id = 3}, large), Sent::down);
  ASSERT_TRUE(pump({&self}, [&] { return self.received.size() == 3; }));
  const LinkId in = self.received.front().link;
  EXPECT_NE(in, out);
  ASSERT_NE(self.send(in, {.id = 4}, "and back"), Sent::down);
  ASSERT_TRUE(pump({&self}, [&] { return self.received.size() == 4; }));
  EXPECT_EQ(self.received.back().link, out);
  EXPECT_EQ(text_of(self.received.back().body.view()), "and back");
  self.transport->close(out);
  EXPECT_TRUE(pump({&self}, [&] { return self.downs.size() == 2; }));
}

TEST(UcxTransport, MessagesOfEverySizeArriveIntact) {
  TestPair pair;
  std::vector<std::string> bodies;
  for (const std::size_t size : {0UL, 1UL, 8UL, 64UL, 4095UL, 4096UL, 4097UL, 8191UL, 8192UL,
                                 8193UL, 9000UL, 65'536UL, 65'537UL, 300'000UL, 5'000'000UL}) {
    bodies.push_back(pattern(size, size));
  }
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Sent sent =
        pair.client.send(pair.client_link,
                         {.kind = wire::Kind::call, .aux = 7, .id = i, .subject = 9}, bodies[i], i);
    ASSERT_NE(sent, Sent::down);
    if (bodies[i].size() <= pair.client.transport->small_limit()) {
      EXPECT_EQ(sent, Sent::now);
    }
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

TEST(UcxTransport, SeveralPartsArriveAsOneBody) {
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
    const Sent sent = pair.client.transport->send(pair.client_link, {.id = count}, parts, count);
    ASSERT_NE(sent, Sent::down);
    ASSERT_TRUE(pair.pump([&] { return !pair.server.received.empty(); }));
    EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == whole) << count << " parts";
    if (sent == Sent::later) {
      EXPECT_TRUE(pair.pump([&] { return pair.client.sent == std::vector{std::uint64_t{count}}; }));
    }
  }
}

TEST(UcxTransport, ALargeBodyIsBorrowedUntilOnSent) {
  const std::string body = pattern(64 << 20);
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, body, 77), Sent::later);
  EXPECT_TRUE(pair.client.sent.empty());
  ASSERT_TRUE(
      pair.pump([&] { return !pair.server.received.empty() && !pair.client.sent.empty(); }));
  EXPECT_EQ(pair.client.sent, std::vector<std::uint64_t>{77});
  EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == body);
}

TEST(UcxTransport, TheFirstMessageMayAlreadyBeLarge) {
  const std::string body = pattern(3 << 20);
  TestPair pair;
  // The server's first message goes out in the same poll as its on_up.
  ASSERT_NE(pair.server.send(pair.server_link, {.id = 5}, body, 1), Sent::down);
  ASSERT_TRUE(pair.pump([&] { return !pair.client.received.empty(); }));
  EXPECT_TRUE(text_of(pair.client.received[0].body.view()) == body);
}

TEST(UcxTransport, ABodyBeyondTheBudgetIsDiscardedButAnnounced) {
  UcxOptions small_budget;
  small_budget.inbound_budget_bytes = 1 << 20;
  TestPair pair(small_budget);
  const std::string too_large = pattern((1 << 20) + 1);
  const std::string fits = pattern(1 << 20);
  ASSERT_NE(pair.client.send(pair.client_link, {.id = 1}, too_large, 1), Sent::down);
  for (std::uint64_t id = 2; id < 10; ++id) {
    ASSERT_NE(pair.client.send(pair.client_link, {.id = id}, fits, id), Sent::down);
  }
  ASSERT_TRUE(
      pair.pump([&] { return pair.server.received.size() == 9 && pair.client.sent.size() == 9; }));
  for (const auto& message : pair.server.received) {
    EXPECT_EQ(message.discarded, message.header.id == 1);
    if (!message.discarded) {
      EXPECT_TRUE(text_of(message.body.view()) == fits);
    }
  }
  EXPECT_EQ(pair.server.transport->counters().discarded_bodies, 1U);
  EXPECT_TRUE(pair.server.downs.empty());
}

TEST(UcxTransport, MoreWaitingBodiesThanAllowedAreDiscarded) {
  UcxOptions narrow;
  narrow.inbound_budget_bytes = 1 << 20;
  narrow.max_waiting_bodies = 0;
  TestPair pair(narrow);
  const std::string body = pattern(100'000);
  ASSERT_NE(pair.client.send(pair.client_link, {.id = 1}, body, 1), Sent::down);
  ASSERT_TRUE(pair.pump([&] { return !pair.server.received.empty(); }));
  EXPECT_TRUE(pair.server.received[0].discarded);
}

TEST(UcxTransport, APeerThatDoesNotPollGetsEverythingLater) {
  TestPair pair;
  constexpr std::size_t kCount = 20'000;  // more than the sockets between them hold
  const std::string body = pattern(2000);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body), Sent::now);
    if (i % 64 == 0) pair.client.reactor->run_once();
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

TEST(UcxTransport, OnePollHandlesNoMoreThanItsBudget) {
  TestPair pair;
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
  }
  std::size_t most = 0;
  ASSERT_TRUE(pump({&pair.client}, [&] {
    const std::size_t before = arrived;
    pair.server.transport->poll(3);
    most = std::max(most, arrived - before);
    return arrived == 100;
  }));
  EXPECT_EQ(most, 3U);
}

TEST(UcxTransport, SixteenLinksCarryTheirOwnMessages) {
  TestPeer server;
  const Address address = server.listen();
  std::vector<std::unique_ptr<TestPeer>> clients;
  std::vector<TestPeer*> all{&server};
  std::vector<LinkId> links;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<TestPeer>());
    all.push_back(clients.back().get());
    links.push_back(clients.back()->connect(address));
  }
  ASSERT_TRUE(pump(all, [&] { return server.ups.size() == 16; }));
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
}

TEST(UcxTransport, LinksBeyondTheLimitAreRefused) {
  UcxOptions one;
  one.max_links = 1;
  TestPair pair(one, one);
  const auto second = pair.client.transport->connect(pair.address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::resource_exhausted);
  TestPeer another;
  const LinkId link = another.connect(pair.address);
  ASSERT_TRUE(pump({&pair.server, &pair.client, &another}, [&] { return !another.downs.empty(); }));
  EXPECT_TRUE(another.ups.empty());
  EXPECT_NE(another.downs.at(link).message.find("max_links"), std::string::npos)
      << another.downs.at(link).message;
}

TEST(UcxTransport, ASleepingReactorWakesForAMessage) {
  TestPair pair;
  std::atomic<int> arrived{0};
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  ASSERT_TRUE(pair.server.reactor->start());
  for (int i = 0; i < 20; ++i) {
    // The server has nothing to do, so it sleeps well before the next message.
    const auto quiet_until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    ASSERT_TRUE(
        pump({&pair.client}, [&] { return std::chrono::steady_clock::now() > quiet_until; }));
    ASSERT_EQ(pair.client.send(pair.client_link, {}, "wake up"), Sent::now);
    ASSERT_TRUE(pump({&pair.client}, [&] { return arrived == i + 1; }, std::chrono::seconds(2)));
  }
  pair.server.reactor->stop();
}

TEST(UcxTransport, TwoThreadsPlayPingPong) {
  constexpr int kRounds = 2000;
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
  ASSERT_TRUE(pair.server.reactor->start());
  ASSERT_TRUE(pair.client.reactor->start());
  EXPECT_TRUE(
      pair.client.reactor->wait(done, pair.client.reactor->now() + std::chrono::seconds(30)));
  pair.client.reactor->stop();
  pair.server.reactor->stop();
  EXPECT_EQ(answers, kRounds);
}

TEST(UcxTransport, BodiesOfMoreThanTwoGibibytesArriveLong) {
  std::string body((std::size_t{2} << 30) + 12'345, 'a');
  body.front() = 'f';
  body[std::size_t{1} << 31] = 'm';
  body.back() = 'l';
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, body, 1), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return !pair.server.received.empty() && !pair.client.sent.empty(); },
                        std::chrono::seconds(55)));
  EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == body);
}

}  // namespace
}  // namespace godwit::fabric::ucx
