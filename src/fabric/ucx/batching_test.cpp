#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

void send_in_one_turn(TestPeer& peer, LinkId link, std::vector<std::string> bodies) {
  peer.reactor->post([&peer, link, bodies = std::move(bodies)] {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_EQ(
          peer.send(link, {.kind = wire::Kind::call, .aux = 7, .id = i, .subject = 9}, bodies[i]),
          Sent::now);
    }
  });
}

std::vector<std::string> bodies_of(std::size_t count, std::size_t size) {
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < count; ++i) bodies.push_back(pattern(size, i));
  return bodies;
}

TEST(UcxBatching, SmallMessagesOfOneTurnShareAnActiveMessage) {
  TestPair pair;
  std::vector<std::string> bodies;
  for (std::size_t size = 0; size < 60; ++size) bodies.push_back(pattern(size, size));
  send_in_one_turn(pair.client, pair.client_link, bodies);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == bodies.size(); }));
  EXPECT_EQ(pair.client.transport->counters().batches, 1U);
  EXPECT_EQ(pair.client.transport->counters().batched_messages, bodies.size() - 1)
      << "all but the first, which leaves at once";
  std::set<std::uint64_t> seen;
  for (const auto& message : pair.server.received) {
    EXPECT_EQ(message.link, pair.server_link);
    EXPECT_EQ(message.header.kind, wire::Kind::call);
    EXPECT_EQ(message.header.aux, 7U);
    EXPECT_EQ(message.header.subject, 9U);
    EXPECT_EQ(message.header.link_token, pair.server.received[0].header.link_token);
    ASSERT_TRUE(message.header.id < bodies.size() && seen.insert(message.header.id).second);
    EXPECT_EQ(text_of(message.body.view()), bodies[message.header.id]);
  }
}

TEST(UcxBatching, ABatchThatIsFullLeavesAndTheNextBegins) {
  TestPair pair;
  const std::vector<std::string> bodies = bodies_of(300, 1000);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == bodies.size(); }));
  for (const auto& message : pair.server.received) {
    EXPECT_EQ(text_of(message.body.view()), bodies.at(message.header.id));
  }
  const UcxCounters& counters = pair.client.transport->counters();
  EXPECT_EQ(counters.batched_messages, 299U);
  EXPECT_EQ(counters.batches, 43U) << "7 entries of 1040 bytes in 8192";
}

TEST(UcxBatching, LargerMessagesGoByThemselves) {
  TestPair pair;
  send_in_one_turn(pair.client, pair.client_link, bodies_of(20, kBatchedLimit + 1));
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 20; }));
  EXPECT_EQ(pair.client.transport->counters().batches, 0U);
}

TEST(UcxBatching, AnExchangeOfOneMessageAtATimeKnowsNoBatches) {
  TestPair pair;
  pair.server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    (void)pair.server.transport->send(link, message.header(), {&part, 1}, 0);
  };
  for (std::size_t round = 1; round <= 20; ++round) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = round}, "alone"), Sent::now);
    ASSERT_TRUE(pair.pump([&] { return pair.client.received.size() == round; }));
  }
  EXPECT_EQ(pair.client.transport->counters().batches, 0U);
  EXPECT_EQ(pair.server.transport->counters().batches, 0U);
}

TEST(UcxBatching, EveryLinkHasABatchOfItsOwn) {
  TestPair pair;
  const LinkId second = pair.client.connect(pair.address);
  ASSERT_TRUE(
      pair.pump([&] { return pair.client.ups.size() == 2 && pair.server.ups.size() == 2; }));
  pair.client.reactor->post([&] {
    for (std::uint64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(pair.client.send(i % 2 == 0 ? pair.client_link : second, {.id = i}, "x"),
                Sent::now);
    }
  });
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 40; }));
  EXPECT_EQ(pair.client.transport->counters().batches, 2U);
  for (const auto& message : pair.server.received) {
    EXPECT_EQ(message.link == pair.server_link, message.header.id % 2 == 0);
  }
}

TEST(UcxBatching, APeerThatDoesNotKnowBatchesGetsNone) {
  UcxOptions plain;
  plain.batches = false;
  TestPair pair(plain, {});
  for (TestPeer* peer : {&pair.client, &pair.server}) {
    const LinkId link = peer == &pair.client ? pair.client_link : pair.server_link;
    TestPeer& other = peer == &pair.client ? pair.server : pair.client;
    const std::vector<std::string> bodies = bodies_of(30, 64);
    send_in_one_turn(*peer, link, bodies);
    ASSERT_TRUE(pair.pump([&] { return other.received.size() == bodies.size(); }));
    EXPECT_EQ(peer->transport->counters().batches, 0U);
  }
}

TEST(UcxBatching, OnePollHandlesNoMoreOfABatchThanItsBudget) {
  TestPair pair;
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  const std::vector<std::string> bodies = bodies_of(100, 8);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  std::size_t most = 0;
  ASSERT_TRUE(pump({&pair.client}, [&] {
    const std::size_t before = arrived;
    pair.server.transport->poll(3);
    most = std::max(most, arrived - before);
    return arrived == bodies.size();
  }));
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(pair.client.transport->counters().batched_messages, 99U);
}

TEST(UcxBatching, ATransportWithABatchLeftToDeliverDoesNotSleep) {
  TestPair pair;
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  const std::vector<std::string> bodies = bodies_of(50, 8);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  ASSERT_TRUE(pump({&pair.client}, [&] {
    pair.server.transport->poll(2);
    return arrived >= 2;
  }));
  for (std::size_t polls = 0; arrived < bodies.size() && polls < 1'000'000; ++polls) {
    if (arrived > 2) {
      EXPECT_FALSE(pair.server.transport->prepare_to_sleep()) << arrived;
    }
    pair.server.transport->poll(2);
  }
  EXPECT_EQ(arrived, bodies.size());
}

TEST(UcxBatching, CloseSendsWhatWasCollected) {
  TestPair pair;
  const std::vector<std::string> bodies = bodies_of(30, 100);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  pair.client.reactor->post([&] {
    pair.client.transport->close(pair.client_link);
    EXPECT_EQ(pair.client.send(pair.client_link, {}, "too late"), Sent::down);
  });
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.received.size(), bodies.size());
  EXPECT_EQ(pair.client.transport->counters().batches, 1U);
}

TEST(UcxBatching, BatchesOfALinkThatEndedAreDroppedAndOthersGoOn) {
  TestPair pair;
  std::size_t arrived = 0;
  pair.server.handler = [&](LinkId, Message&) { ++arrived; };
  // More than a peer that is gone is listened to.
  const std::vector<std::string> bodies = bodies_of(4000, 8);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  ASSERT_TRUE(pump({&pair.client}, [&] {
    pair.server.transport->poll(5);
    return arrived >= 5;
  }));
  pair.client.transport.reset();
  ASSERT_TRUE(pump({&pair.server}, [&] { return !pair.server.downs.empty(); }));
  EXPECT_LT(arrived, bodies.size());
  arrived = 0;
  TestPeer next;
  const LinkId link = next.connect(pair.address);
  ASSERT_TRUE(pump({&pair.server, &next}, [&] { return next.ups.contains(link); }));
  send_in_one_turn(next, link, bodies);
  EXPECT_TRUE(pump({&pair.server, &next}, [&] { return arrived == bodies.size(); }));
  EXPECT_GT(pair.server.transport->counters().late, 0U);
}

TEST(UcxBatching, AHandlerThatTakesLongDoesNotKeepBackTheAnswersBeforeIt) {
  TestPair pair;
  std::vector<std::uint64_t> batches_seen;
  pair.server.handler = [&](LinkId link, Message& message) {
    batches_seen.push_back(pair.server.transport->counters().batches);
    EXPECT_EQ(pair.server.send(link, message.header(), "answer"), Sent::now);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  const std::vector<std::string> bodies = bodies_of(20, 8);
  send_in_one_turn(pair.client, pair.client_link, bodies);
  ASSERT_TRUE(pair.pump([&] { return pair.client.received.size() == bodies.size(); }));
  ASSERT_EQ(batches_seen.size(), bodies.size());
  EXPECT_GE(batches_seen.back(), 17U) << "answers waited for the end of the turn";
}

TEST(UcxBatching, WhatIsSentBetweenTwoPollsLeavesWithTheNext) {
  TestPair pair;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
  }
  ASSERT_TRUE(pump({&pair.server}, [&] { return pair.server.received.size() == 1; }))
      << "the first leaves at once";
  EXPECT_EQ(pair.client.transport->counters().batches, 0U);
  pair.client.transport->poll(1);
  EXPECT_EQ(pair.client.transport->counters().batches, 1U);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 10; }));
}

TEST(UcxBatching, ASleeperSendsFirst) {
  TestPair pair;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
  }
  (void)pair.client.transport->prepare_to_sleep();
  EXPECT_EQ(pair.client.transport->counters().batches, 1U);
  ASSERT_TRUE(pump({&pair.server}, [&] { return pair.server.received.size() == 10; }));
}

TEST(UcxBatching, AThreadThatSendsAndDoesNotPollIsSoonNoLongerTrusted) {
  TestPair pair;
  std::uint64_t sent = 0;
  const auto burst = [&] {
    for (int i = 0; i < 10; ++i, ++sent) {
      ASSERT_EQ(pair.client.send(pair.client_link, {.id = sent}, "x"), Sent::now);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
    ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == sent; }));
  };
  for (int i = 0; i < 100; ++i) burst();
  // 9 of 10 could wait; after 9 that did, the next 64, 128, 256, 512 leave at once.
  EXPECT_LE(pair.client.transport->counters().batched_messages, 5U * 9U);
}

TEST(UcxBatching, NewsOfAHopLetTheHopGoFirst) {
  TestPair pair;
  const LinkId second = pair.client.connect(pair.address);
  ASSERT_TRUE(
      pair.pump([&] { return pair.client.ups.size() == 2 && pair.server.ups.size() == 2; }));
  pair.client.reactor->post([&] {
    EXPECT_EQ(pair.client.send(pair.client_link, {.kind = wire::Kind::hop_moved}, "moved"),
              Sent::now);
    EXPECT_EQ(pair.client.send(second, {.kind = wire::Kind::call}, "hop"), Sent::now);
    EXPECT_EQ(pair.client.transport->counters().batched_messages, 1U);
    EXPECT_EQ(pair.client.transport->counters().batches, 0U);
  });
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 2; }));
  EXPECT_EQ(pair.server.received[0].header.kind, wire::Kind::call);
}

TEST(HoldTrust, ABatchThatWaitedCostsTheNextOnesTheirWaitAndMoreEachTime) {
  HoldTrust trust;
  const auto paused = [&] {
    std::uint32_t count = 0;
    while (!trust.allows()) ++count;
    return count;
  };
  EXPECT_EQ(paused(), 0U);
  trust.judge(std::chrono::microseconds(80), 64);
  EXPECT_EQ(paused(), 0U) << "64 messages take their time";
  std::uint32_t expected = HoldTrust::kFirstPause;
  for (int i = 0; i < 20; ++i) {
    trust.judge(std::chrono::microseconds(500), 2);
    EXPECT_EQ(paused(), expected);
    expected = std::min(expected * 2, HoldTrust::kLongestPause);
  }
  for (int i = 0; i < 20; ++i) trust.judge(std::chrono::microseconds(5), 2);
  trust.judge(std::chrono::microseconds(500), 2);
  EXPECT_EQ(paused(), HoldTrust::kFirstPause);
}

TEST(UcxBatching, MessagesThatCrossInBatchesAllArrive) {
  constexpr std::size_t kCount = 20'000;
  constexpr std::size_t kWindow = 256;
  TestPair pair;
  std::vector<bool> seen(kCount);
  std::size_t answers = 0;
  std::uint64_t next = 0;
  const std::string body = pattern(kBatchedLimit);
  const auto send_next = [&] {
    const Bytes part = bytes_of(body).first(next * 61 % (body.size() + 1));
    ASSERT_EQ(pair.client.transport->send(pair.client_link, {.id = next}, {&part, 1}, 0),
              Sent::now);
    ++next;
  };
  pair.server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    ASSERT_EQ(pair.server.transport->send(link, message.header(), {&part, 1}, 0), Sent::now);
  };
  pair.client.handler = [&](LinkId, Message& message) {
    const std::uint64_t id = message.header().id;
    ASSERT_LT(id, kCount);
    EXPECT_FALSE(seen[id]);
    seen[id] = true;
    EXPECT_TRUE(
        std::ranges::equal(message.body(), bytes_of(body).first(id * 61 % (body.size() + 1))));
    ++answers;
    if (next < kCount) send_next();
  };
  for (std::size_t i = 0; i < kWindow; ++i) send_next();
  EXPECT_TRUE(pair.pump([&] { return answers == kCount; }));
  EXPECT_GT(pair.client.transport->counters().batched_messages, kCount / 4);
  EXPECT_GT(pair.server.transport->counters().batched_messages, kCount / 4);
}

}  // namespace
}  // namespace godwit::fabric::ucx
