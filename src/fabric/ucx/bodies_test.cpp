// Large bodies, which go over the control socket.
#include <gtest/gtest.h>

#include "base/block_cache.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

TEST(UcxBodies, TakeTurnsSoThatAShortOneIsNotHeldUpByALongOne) {
  const std::string long_body = pattern(64 << 20, 1);
  const std::string short_body = pattern(1 << 20, 2);
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 1}, long_body, 1), Sent::later);
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 2}, short_body, 2), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 2; }));
  EXPECT_EQ(pair.server.received[0].header.id, 2U);
  EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == short_body);
  EXPECT_TRUE(text_of(pair.server.received[1].body.view()) == long_body);
  ASSERT_TRUE(pair.pump([&] { return pair.client.sent.size() == 2; }));
  EXPECT_EQ(pair.client.sent, (std::vector<std::uint64_t>{2, 1}));
}

TEST(UcxBodies, TravelBothWaysAtOnceAmongSmallMessages) {
  constexpr std::size_t kBodies = 8;
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < kBodies; ++i) bodies.push_back(pattern(700'000 * (i + 1), i));
  TestPair pair;
  for (std::size_t i = 0; i < kBodies; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, bodies[i], i), Sent::later);
    ASSERT_EQ(pair.server.send(pair.server_link, {.id = i}, bodies[i], i), Sent::later);
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = 100 + i}, "small"), Sent::now);
  }
  ASSERT_TRUE(pair.pump([&] {
    return pair.server.received.size() == 2 * kBodies && pair.client.received.size() == kBodies &&
           pair.client.sent.size() == kBodies && pair.server.sent.size() == kBodies;
  }));
  for (const TestPeer* peer : {&pair.client, &pair.server}) {
    for (const auto& message : peer->received) {
      const bool large = message.header.id < kBodies;
      EXPECT_TRUE(text_of(message.body.view()) == (large ? bodies[message.header.id] : "small"));
    }
  }
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
}

// The bye goes by UCX, and may be there before them.
TEST(UcxBodies, AllArriveBeforeTheLinkTheirSenderClosed) {
  const std::string body = pattern(3 << 20);
  TestPair pair;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body, i), Sent::later);
  }
  pair.client.transport->close(pair.client_link);
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
  ASSERT_EQ(pair.server.received.size(), 10U);
  for (const auto& message : pair.server.received) {
    EXPECT_TRUE(text_of(message.body.view()) == body);
  }
}

TEST(UcxBodies, ASleepingReceiverWakesForEveryChunk) {
  const std::string body = pattern(20 << 20);
  TestPair pair;
  std::atomic<int> arrived{0};
  pair.server.handler = [&](LinkId, Message& message) {
    EXPECT_TRUE(text_of(message.body()) == body);
    ++arrived;
  };
  ASSERT_TRUE(pair.server.reactor->start());
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 1), Sent::later);
  // The sender moves so slowly that the receiver sleeps in between.
  ASSERT_TRUE(pump({&pair.client}, [&] {
    const auto pause_until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < pause_until) {
    }
    return arrived == 1;
  }));
  pair.server.reactor->stop();
}

TEST(UcxBodies, TheirMemoryIsGivenBackWhenNobodyUsesIt) {
  const std::string body = pattern(8 << 20);
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 1), Sent::later);
  ASSERT_TRUE(pair.pump([&] { return !pair.server.received.empty(); }));
  pair.server.received.clear();
  EXPECT_GE(large_blocks().kept(), 8U << 20);
  ASSERT_TRUE(pair.pump([&] { return large_blocks().kept() == 0; }, std::chrono::seconds(5)));
}

}  // namespace
}  // namespace godwit::fabric::ucx
