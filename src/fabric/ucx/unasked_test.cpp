// Bodies that leave without having been asked for.
#include <gtest/gtest.h>

#include "fabric/ucx/test_impostor.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

constexpr std::size_t kUnaskedBody = std::size_t{1} << 20;

TEST(UcxUnasked, BodiesLeaveBeforeTheReceiverHasSeenAnyOfThem) {
  const std::string body = pattern(kUnaskedBody);
  TestPair pair;
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 7}, body, 1), Sent::later);
  // Nobody polls at the server, and the sockets hold it.
  ASSERT_TRUE(pump({&pair.client}, [&] { return pair.client.sent.size() == 1; }));
  EXPECT_TRUE(pair.server.received.empty());
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
  EXPECT_EQ(pair.server.received[0].header.id, 7U);
  EXPECT_TRUE(text_of(pair.server.received[0].body.view()) == body);
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
}

TEST(UcxUnasked, TheWindowBoundsWhatAStuckReceiverHasToTake) {
  const std::string body = pattern(kUnaskedBody);
  TestPair pair;
  constexpr std::uint64_t kUnaskedBodies = 3 * kUnaskedWindow / kUnaskedBody;
  for (std::uint64_t i = 0; i < kUnaskedBodies; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body, i), Sent::later);
  }
  std::size_t most = 0;
  ASSERT_TRUE(pair.pump([&] {
    most = std::max(most, pair.server.transport->inbound_bytes());
    return pair.server.received.size() == kUnaskedBodies &&
           pair.client.sent.size() == kUnaskedBodies;
  }));
  for (const auto& message : pair.server.received) {
    ASSERT_TRUE(text_of(message.body.view()) == body);
  }
  EXPECT_GT(most, 0U);
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
  EXPECT_EQ(pair.server.transport->counters().malformed, 0U);
  EXPECT_EQ(pair.client.transport->counters().malformed, 0U);
}

// The window comes back: otherwise all but the first would be offered for the rest of its life.
TEST(UcxUnasked, ALinkSendsThemForAsLongAsItLives) {
  const std::string body = pattern(kUnaskedBody);
  TestPair pair;
  for (std::uint64_t i = 0; i < 4 * kUnaskedWindow / kUnaskedBody; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body, i), Sent::later);
    ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == i + 1; }));
  }
  // Lets what the server has said last come in.
  ASSERT_EQ(pair.server.send(pair.server_link, {}, "x"), Sent::now);
  ASSERT_TRUE(pair.pump([&] { return pair.client.received.size() == 1; }));
  pair.client.sent.clear();
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 99), Sent::later);
  ASSERT_TRUE(pump({&pair.client}, [&] { return pair.client.sent.size() == 1; }));
}

TEST(UcxUnasked, AProcessWithLittleMemoryIsAsked) {
  UcxOptions little;
  little.inbound_budget_bytes = 2 * kUnaskedWindow;
  const std::string body = pattern(kUnaskedBody);
  TestPair pair(little);
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 1), Sent::later);
  ASSERT_FALSE(pump(
      {&pair.client}, [&] { return !pair.client.sent.empty(); }, std::chrono::milliseconds(50)));
  ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == 1; }));
}

TEST(UcxUnasked, BodiesOfALinkThatItsSenderClosesAtOnceArrive) {
  const std::string body = pattern(kUnaskedBody);
  for (int round = 0; round < 20; ++round) {
    TestPair pair;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, body, i), Sent::later);
    }
    pair.client.transport->close(pair.client_link);
    ASSERT_TRUE(pair.pump([&] { return !pair.server.downs.empty(); }));
    EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
    ASSERT_EQ(pair.server.received.size(), 4U);
  }
}

TEST(UcxUnasked, APeerThatKeepsTheRulesIsHeard) {
  TestPeer server;
  Impostor peer(server, server.listen());
  const std::string body = pattern(kLeastUnasked);
  peer.announce({.size = body.size(), .stream = 1}, body, 1);
  ASSERT_TRUE(peer.pump([&] { return server.received.size() == 1; }));
  EXPECT_TRUE(text_of(server.received[0].body.view()) == body);
}

TEST(UcxUnasked, AnnouncementsThatBreakTheRulesEndTheLink) {
  const std::string chunk = pattern(kLeastUnasked);
  const struct {
    const char* what;
    Offer body;
    std::uint64_t stream;
  } all[] = {{"more than the window", {.size = kUnaskedWindow + 1, .stream = 1}, 1},
             {"smaller than they may be", {.size = kLeastUnasked - 1, .stream = 1}, 1},
             {"empty", {.size = 0, .stream = 1}, 1},
             {"no stream", {.size = kUnaskedBody, .stream = 0}, 1},
             {"a chunk of another one", {.size = kUnaskedBody, .stream = 1}, 2}};
  for (const auto& one : all) {
    TestPeer server;
    Impostor peer(server, server.listen());
    peer.announce(one.body, chunk, one.stream);
    EXPECT_EQ(peer.end_of_link().code, ErrorCode::protocol_violation) << one.what;
    EXPECT_EQ(server.transport->inbound_bytes(), 0U) << one.what;
    EXPECT_TRUE(server.received.empty()) << one.what;
  }
}

TEST(UcxUnasked, TheSameStreamTwiceOrMoreThanTheWindowTogetherEndsTheLink) {
  const std::string chunk = pattern(kLeastUnasked);
  for (const std::uint64_t second : {1U, 2U}) {
    TestPeer server;
    Impostor peer(server, server.listen());
    const std::uint64_t size = second == 1 ? kUnaskedBody : kUnaskedWindow;
    peer.announce({.size = kUnaskedBody, .stream = 1}, chunk, 1);
    peer.announce({.size = size, .stream = second}, chunk, second);
    EXPECT_EQ(peer.end_of_link().code, ErrorCode::protocol_violation);
    EXPECT_EQ(server.transport->inbound_bytes(), 0U);
  }
}

TEST(UcxUnasked, ChunksBeyondTheAnnouncedSizeEndTheLink) {
  TestPeer server;
  Impostor peer(server, server.listen());
  const std::string body = pattern(kLeastUnasked);
  peer.announce({.size = 2 * kLeastUnasked, .stream = 1}, body, 1);
  peer.send_chunk(1, pattern(kLeastUnasked + 1));
  EXPECT_EQ(peer.end_of_link().code, ErrorCode::protocol_violation);
  EXPECT_TRUE(server.received.empty());
}

TEST(UcxUnasked, APeerThatDiesInTheMiddleLeavesNothingBehind) {
  TestPeer server;
  Impostor peer(server, server.listen());
  peer.announce({.size = kUnaskedBody, .stream = 1}, pattern(kLeastUnasked), 1);
  ASSERT_TRUE(peer.pump([&] { return server.transport->inbound_bytes() == kUnaskedBody; }));
  peer.hang_up();
  EXPECT_EQ(peer.end_of_link().code, ErrorCode::link_lost);
  EXPECT_EQ(server.transport->inbound_bytes(), 0U);
  EXPECT_TRUE(server.received.empty());
}

}  // namespace
}  // namespace godwit::fabric::ucx
