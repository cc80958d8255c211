#include "fabric/shm/transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/allocation_count.hpp"
#include "base/seeds_for_test.hpp"
#include "fabric/shm/test_peer.hpp"

namespace godwit::fabric::shm {
namespace {

class ShmTransportTest : public ::testing::Test {
 protected:
  void link_up(Peer& client, Peer& server) {
    address_ = server.transport->listen(directory_.socket()).value();
    const auto link = client.transport->connect(address_);
    ASSERT_TRUE(link);
    ASSERT_TRUE(
        until({&client, &server}, [&] { return !client.ups.empty() && !server.ups.empty(); }));
    ASSERT_EQ(client.ups.front(), *link);
  }
  ScratchDirectory directory_;
  Address address_;
};

TEST_F(ShmTransportTest, LinkComesUpAtBothEndsWithTheOthersHello) {
  const trust::FleetKey key = trust::FleetKey::generate();
  Peer server({.hello = [] { return Hello{NodeId{1}, Epoch{2}, "server"}; }, .key = &key});
  Peer client({.hello = [] { return Hello{NodeId{3}, Epoch{4}, "client"}; }, .key = &key});
  link_up(client, server);
  EXPECT_EQ(client.hellos[0].blob, "server");
  EXPECT_EQ(client.hellos[0].node, NodeId{1});
  EXPECT_EQ(server.hellos[0].blob, "client");
  EXPECT_EQ(server.hellos[0].epoch, Epoch{4});
}

TEST_F(ShmTransportTest, MessagesOfEverySizeArriveIntactInBothDirections) {
  Peer server;
  Peer client;
  link_up(client, server);
  std::uint64_t id = 0;
  for (const std::size_t size : {0UL,
                                 1UL,
                                 8UL,
                                 31UL,
                                 32UL,
                                 33UL,
                                 64UL,
                                 95UL,
                                 96UL,
                                 97UL,
                                 1000UL,
                                 4096UL,
                                 kSmallLimit - 1,
                                 kSmallLimit,
                                 kSmallLimit + 1,
                                 32736UL,
                                 32737UL,
                                 65536UL,
                                 100'000UL,
                                 1UL << 20,
                                 3'333'333UL,
                                 64UL << 20}) {
    const auto body = pattern(size, ++id);
    for (auto [from, to] : {std::pair{&client, &server}, std::pair{&server, &client}}) {
      to->received.clear();
      from->sent.clear();
      const Sent sent = from->send(from->ups[0], id, body);
      EXPECT_EQ(sent, size <= from->transport->small_limit() ? Sent::now : Sent::later);
      ASSERT_TRUE(until({&client, &server}, [&] { return to->received.size() == 1; })) << size;
      EXPECT_EQ(to->received[0].header.id, id);
      EXPECT_EQ(to->received[0].header.kind, wire::Kind::call);
      EXPECT_EQ(to->received[0].header.link_token, 0U);
      ASSERT_TRUE(to->received[0].body == body) << size;
      if (sent == Sent::now) continue;
      ASSERT_TRUE(until({&client, &server}, [&] { return from->sent.size() == 1; }));
      EXPECT_EQ(from->sent[0], id);
    }
  }
}

TEST_F(ShmTransportTest, ScatteredPartsAreOneBody) {
  Peer server;
  Peer client;
  link_up(client, server);
  for (const std::size_t piece : {3UL, 1000UL, 100'000UL}) {
    std::vector<std::vector<std::byte>> pieces;
    std::vector<std::byte> whole;
    std::vector<Bytes> parts;
    for (std::size_t i = 0; i < 40; ++i) {
      pieces.push_back(pattern(i % 4 == 0 ? 0 : piece + i, i));
      whole.insert(whole.end(), pieces.back().begin(), pieces.back().end());
    }
    for (const auto& bytes : pieces) parts.emplace_back(bytes);
    server.received.clear();
    ASSERT_NE(client.transport->send(client.ups[0], {}, parts, 1), Sent::down);
    ASSERT_TRUE(until({&client, &server}, [&] { return server.received.size() == 1; }));
    EXPECT_TRUE(server.received[0].body == whole);
  }
}

TEST_F(ShmTransportTest, RecordsSurviveManyLapsOfASmallRing) {
  Peer server({.ring_size = kMinRingSize});
  Peer client({.ring_size = kMinRingSize});
  link_up(client, server);
  const Seed seed(1);
  std::mt19937 random(seed.value());
  std::uint64_t next_in = 0;
  server.on_message_hook = [&](LinkId, Message& message) {
    // Small messages keep their order as long as none is queued.
    ASSERT_EQ(message.header().id, next_in);
    const auto expected = pattern(message.body().size(), next_in);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), message.body().begin()));
    ++next_in;
  };
  for (std::uint64_t id = 0; id < 20'000; ++id) {
    const auto body = pattern(random() % 700, id);
    ASSERT_EQ(client.send(client.ups[0], id, body), Sent::now);
    if (random() % 8 == 0) server.reactor->run_once();
  }
  ASSERT_TRUE(until({&client, &server}, [&] { return next_in == 20'000; }));
}

TEST_F(ShmTransportTest, FullRingKeepsMessagesUntilThePeerReadsThem) {
  Peer server({.ring_size = kMinRingSize});
  Peer client;
  link_up(client, server);
  constexpr std::uint64_t kCount = 5000;
  for (std::uint64_t id = 0; id < kCount; ++id) {
    ASSERT_EQ(client.send(client.ups[0], id, pattern(100, id)), Sent::now);
    client.reactor->run_once();
  }
  ASSERT_TRUE(until({&client, &server}, [&] { return server.received.size() == kCount; }));
  for (const auto& message : server.received)
    EXPECT_TRUE(message.body == pattern(100, message.header.id));
}

TEST_F(ShmTransportTest, SmallMessageOvertakesALargeOne) {
  Peer server;
  Peer client;
  link_up(client, server);
  const auto large = pattern(8 << 20, 1);
  ASSERT_EQ(client.send(client.ups[0], 1, large), Sent::later);
  for (int i = 0; i < 5; ++i) {
    client.reactor->run_once();
    server.reactor->run_once();
  }
  ASSERT_EQ(client.send(client.ups[0], 2, pattern(64, 2)), Sent::now);
  ASSERT_TRUE(until({&client, &server}, [&] { return server.received.size() == 2; }));
  EXPECT_EQ(server.received[0].header.id, 2U);
  EXPECT_EQ(server.received[1].header.id, 1U);
}

TEST_F(ShmTransportTest, MoreStreamsThanSlotsShareTheLink) {
  Peer server;
  Peer client;
  link_up(client, server);
  std::vector<std::vector<std::byte>> bodies;
  for (std::uint64_t id = 0; id < 50; ++id) bodies.push_back(pattern(50'000 + id * 1000, id));
  for (std::uint64_t id = 0; id < 50; ++id)
    ASSERT_EQ(client.send(client.ups[0], id, bodies[id]), Sent::later);
  ASSERT_TRUE(until({&client, &server},
                    [&] { return server.received.size() == 50 && client.sent.size() == 50; }));
  for (const auto& message : server.received)
    EXPECT_TRUE(message.body == bodies[message.header.id]);
}

TEST_F(ShmTransportTest, BodyBeyondTheBudgetArrivesAsItsHeaderAlone) {
  Peer server({.inbound_budget = 1 << 20});
  Peer client;
  link_up(client, server);
  const auto too_large = pattern((1 << 20) + 1, 1);
  const auto fits = pattern(1 << 20, 2);
  ASSERT_EQ(client.send(client.ups[0], 1, too_large), Sent::later);
  ASSERT_TRUE(until({&client, &server}, [&] { return server.received.size() == 1; }));
  EXPECT_TRUE(server.received[0].discarded);
  EXPECT_EQ(server.received[0].header.id, 1U);
  ASSERT_EQ(client.send(client.ups[0], 2, fits), Sent::later);
  ASSERT_TRUE(until({&client, &server}, [&] { return server.received.size() == 2; }));
  EXPECT_TRUE(server.received[1].body == fits);
}

TEST_F(ShmTransportTest, CloseDeliversWhatWasSentBeforeAndEndsBothSidesOnce) {
  Peer server;
  Peer client;
  link_up(client, server);
  const auto large = pattern(1 << 20, 1);
  ASSERT_EQ(client.send(client.ups[0], 1, large), Sent::later);
  ASSERT_EQ(client.send(client.ups[0], 2, pattern(10, 2)), Sent::now);
  client.transport->close(client.ups[0]);
  EXPECT_EQ(client.send(client.ups[0], 3, {}), Sent::down);
  EXPECT_TRUE(client.downs.empty()) << "never from inside close()";
  ASSERT_TRUE(
      until({&client, &server}, [&] { return !client.downs.empty() && !server.downs.empty(); }));
  EXPECT_EQ(server.received.size(), 2U);
  EXPECT_EQ(client.downs[0].second.code, ErrorCode::none);
  EXPECT_EQ(server.downs[0].second.code, ErrorCode::none);
  for (int i = 0; i < 10; ++i) {
    client.reactor->run_once();
    server.reactor->run_once();
  }
  EXPECT_EQ(client.downs.size(), 1U);
  EXPECT_EQ(server.downs.size(), 1U);
  EXPECT_EQ(server.send(server.ups[0], 4, {}), Sent::down);
}

TEST_F(ShmTransportTest, CloseDoesNotWaitForEverForAPeerThatReadsNothing) {
  Peer server({.ring_size = kMinRingSize});
  Peer client({.close_grace = std::chrono::milliseconds(30)});
  link_up(client, server);
  const auto large = pattern(1 << 20, 1);
  ASSERT_EQ(client.send(client.ups[0], 1, large), Sent::later);
  client.transport->close(client.ups[0]);
  ASSERT_TRUE(until({&client}, [&] { return !client.downs.empty(); }));
  EXPECT_EQ(client.downs[0].second.code, ErrorCode::none);
  ASSERT_TRUE(until({&server}, [&] { return !server.downs.empty(); }));
  EXPECT_EQ(server.downs[0].second.code, ErrorCode::link_lost);
}

TEST_F(ShmTransportTest, HandlersMaySendCloseAndConnect) {
  Peer server;
  Peer client;
  link_up(client, server);
  server.on_message_hook = [&](LinkId link, Message& message) {
    if (message.header().id == 1) {
      EXPECT_EQ(server.send(link, 10, message.body()), Sent::now);
    } else {
      server.transport->close(link);
    }
  };
  client.on_message_hook = [&](LinkId link, Message&) {
    EXPECT_TRUE(client.transport->connect(address_));
    EXPECT_EQ(client.send(link, 2, {}), Sent::now);
  };
  ASSERT_EQ(client.send(client.ups[0], 1, pattern(8, 1)), Sent::now);
  ASSERT_TRUE(until({&client, &server}, [&] {
    return client.ups.size() == 2 && client.downs.size() == 1 && server.downs.size() == 1;
  }));
  EXPECT_NE(client.ups[0], client.ups[1]);
}

TEST_F(ShmTransportTest, FailedConnectsEndInOnDownWithTheReason) {
  Peer client;
  const auto link = client.transport->connect(directory_.socket("nobody.sock"));
  ASSERT_TRUE(link);
  EXPECT_TRUE(client.downs.empty()) << "never from inside connect()";
  ASSERT_TRUE(until({&client}, [&] { return !client.downs.empty(); }));
  EXPECT_EQ(client.downs[0].first, *link);
  EXPECT_EQ(client.downs[0].second.code, ErrorCode::unreachable);

  const trust::FleetKey key = trust::FleetKey::generate();
  Peer server({.key = &key});
  ASSERT_TRUE(server.transport->listen(directory_.socket()));
  ASSERT_TRUE(client.transport->connect(directory_.socket()));
  ASSERT_TRUE(until({&client, &server}, [&] { return client.downs.size() == 2; }));
  EXPECT_EQ(client.downs[1].second.code, ErrorCode::unauthorised);
  EXPECT_TRUE(server.ups.empty());
}

TEST_F(ShmTransportTest, MisuseIsAnErrorAtOnce) {
  Peer peer;
  EXPECT_EQ(peer.transport->connect(Address::parse("tcp:127.0.0.1:1").value()).error().code,
            ErrorCode::bad_address);
  ASSERT_TRUE(peer.transport->listen(directory_.socket()));
  EXPECT_FALSE(peer.transport->listen(directory_.socket("second.sock")));
  EXPECT_EQ(peer.send(LinkId{12345}, 1, {}), Sent::down);
  peer.transport->close(LinkId{12345});
  EXPECT_EQ(ShmTransport::create(*peer.reactor, peer, {.ring_size = 100'000}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(ShmTransportTest, ServesMoreLinksThanItKeepsHot) {
  constexpr std::size_t kLinks = 64;
  Peer server({.ring_size = kMinRingSize});
  Peer client({.ring_size = kMinRingSize});
  address_ = server.transport->listen(directory_.socket()).value();
  for (std::size_t i = 0; i < kLinks; ++i) {
    ASSERT_TRUE(client.transport->connect(address_));
    ASSERT_TRUE(until({&client, &server},
                      [&] { return client.ups.size() == i + 1 && server.ups.size() == i + 1; }));
  }
  std::map<LinkId, std::uint64_t> answers;
  server.on_message_hook = [&](LinkId link, Message& message) {
    EXPECT_EQ(server.send(link, message.header().id, message.body()), Sent::now);
  };
  client.on_message_hook = [&](LinkId link, Message& message) {
    EXPECT_EQ(message.body().size(), 40U);
    ++answers[link];
  };
  for (std::uint64_t round = 1; round <= 50; ++round) {
    for (const LinkId link : client.ups)
      ASSERT_EQ(client.send(link, round, pattern(40, round)), Sent::now);
    ASSERT_TRUE(until({&client, &server}, [&] {
      return answers.size() == kLinks &&
             std::all_of(answers.begin(), answers.end(),
                         [&](const auto& entry) { return entry.second == round; });
    })) << round;
  }
}

// How often doorbells of this process have been rung and not been read.
std::uint64_t rings() {
  std::uint64_t all = 0;
  for (const auto& info : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream lines(info.path());
    for (std::string word; lines >> word;) {
      std::uint64_t count = 0;
      if (word == "eventfd-count:" && lines >> std::hex >> count >> std::dec) all += count;
    }
  }
  return all;
}

TEST_F(ShmTransportTest, SleepingPeerIsRungForWhatItHasNotTakenOnly) {
  Peer server;
  Peer client;
  link_up(client, server);
  const auto body = pattern(64, 1);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_EQ(client.send(client.ups[0], i, body), Sent::now);
    while (server.received.size() != i) server.transport->poll(64);
    ASSERT_TRUE(server.transport->prepare_to_sleep());
    const std::uint64_t before = rings();
    client.transport->poll(64);  // looks once more whether the server sleeps
    EXPECT_EQ(rings(), before) << i;
    server.transport->poll(64);
  }
  ASSERT_TRUE(server.transport->prepare_to_sleep());
  const std::uint64_t before = rings();
  ASSERT_EQ(client.send(client.ups[0], 11, body), Sent::now);
  EXPECT_GT(rings(), before);
}

TEST_F(ShmTransportTest, WarmSmallMessagesDoNotAllocate) {
  if (!counts_allocations) GTEST_SKIP() << "a sanitizer has replaced operator new";
  Peer server;
  Peer client;
  link_up(client, server);
  std::uint64_t answered = 0;
  server.on_message_hook = [&](LinkId link, Message& message) {
    EXPECT_EQ(server.send(link, 1, message.body()), Sent::now);
  };
  client.on_message_hook = [&](LinkId, Message&) { ++answered; };
  const auto body = pattern(64, 1);
  std::uint64_t before = 0;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    if (i == 1000) before = allocation_count();
    ASSERT_EQ(client.send(client.ups[0], i, body), Sent::now);
    while (answered != i) {
      client.transport->poll(64);
      server.transport->poll(64);
    }
  }
  EXPECT_EQ(allocation_count() - before, 0U);
  EXPECT_GT(before, 0U) << "the counter counts";
}

}  // namespace
}  // namespace godwit::fabric::shm
