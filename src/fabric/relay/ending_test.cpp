// How links through a relay go down.
#include <gtest/gtest.h>

#include "fabric/relay/test_peer.hpp"

namespace godwit::fabric::relay {
namespace {

TEST(RelayEnding, CloseDeliversWhatWasSentFirst) {
  TestPair pair;
  const std::string large = pattern(2 << 20);
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 0}, large, 1), Sent::later);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "small"), Sent::now);
  }
  pair.client.transport->close(pair.client_link);
  EXPECT_EQ(pair.client.send(pair.client_link, {.id = 999}, "too late"), Sent::down);
  EXPECT_TRUE(pair.client.downs.empty()) << "events come from poll() alone";
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.downs.at(pair.server_link).message, "the peer closed the link");
  EXPECT_EQ(pair.server.received.size(), 101U);
  EXPECT_EQ(pair.client.transport->link_count(), 0U);
  EXPECT_EQ(pair.server.transport->link_count(), 0U);
  EXPECT_TRUE(pair.pump([&] { return pair.relay.server->links() == 0; }));
}

TEST(RelayEnding, BothSidesMayCloseAtOnce) {
  TestPair pair;
  const std::string large = pattern(1 << 20);
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
    ASSERT_EQ(pair.server.send(pair.server_link, {.id = i}, "y"), Sent::now);
  }
  ASSERT_EQ(pair.client.send(pair.client_link, {.id = 50}, large), Sent::later);
  pair.client.transport->close(pair.client_link);
  pair.server.transport->close(pair.server_link);
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.received.size(), 51U);
  EXPECT_EQ(pair.client.received.size(), 50U);
}

TEST(RelayEnding, CloseOfALinkWhosePeerIsStuckEndsAnyway) {
  RelayOptions impatient;
  impatient.close_limit = std::chrono::milliseconds(100);
  const std::string body = pattern(32 << 20);
  TestPair pair({}, impatient);
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 1), Sent::later);
  pair.client.transport->close(pair.client_link);
  ASSERT_TRUE(pump(
      {&pair.client, &pair.relay}, [&] { return !pair.client.downs.empty(); },
      std::chrono::seconds(3)));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_TRUE(pair.client.sent.empty()) << "on_down released the body";
  ASSERT_TRUE(pair.pump([&] { return !pair.server.downs.empty(); }));
}

TEST(RelayEnding, APeerThatGoesAwayTakesItsLinkDown) {
  const std::string body = pattern(32 << 20);
  TestRelay relay;
  TestPeer server;
  auto client = std::make_unique<TestPeer>();
  server.enrol(relay);
  ASSERT_TRUE(pump({&relay, &server}, [&] { return server.transport->is_enrolled(); }));
  client->connect(server.address);
  ASSERT_TRUE(pump({&relay, &server, client.get()}, [&] { return server.ups.size() == 1; }));
  const LinkId link = server.ups.begin()->first;
  ASSERT_EQ(server.send(link, {}, body, 1), Sent::later);
  client.reset();
  ASSERT_TRUE(
      pump({&relay, &server}, [&] { return !server.downs.empty(); }, std::chrono::seconds(2)));
  EXPECT_EQ(server.downs.at(link).code, ErrorCode::unreachable) << server.downs.at(link).message;
  EXPECT_EQ(server.send(link, {}, "x"), Sent::down);
  EXPECT_EQ(server.transport->link_count(), 0U);
  EXPECT_TRUE(pump({&relay}, [&] { return relay.server->links() == 0; }));
}

TEST(RelayEnding, ARelayThatEndsTakesLinksDownAndIsFoundAgain) {
  auto relay = std::make_unique<TestRelay>();
  const std::uint16_t port = relay->server->address().port;
  TestPeer server;
  TestPeer client;
  server.enrol(*relay);
  ASSERT_TRUE(pump({relay.get(), &server}, [&] { return server.transport->is_enrolled(); }));
  const LinkId link = client.connect(server.address);
  ASSERT_TRUE(pump({relay.get(), &server, &client},
                   [&] { return client.ups.size() == 1 && server.ups.size() == 1; }));
  relay.reset();
  ASSERT_TRUE(
      pump({&server, &client}, [&] { return !client.downs.empty() && !server.downs.empty(); }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::unreachable);
  EXPECT_NE(client.downs.at(link).message.find("relay:127.0.0.1:"), std::string::npos)
      << client.downs.at(link).message;
  EXPECT_FALSE(server.transport->is_enrolled());

  const LinkId while_away = client.connect(server.address);
  ASSERT_TRUE(pump({&server, &client}, [&] { return client.downs.contains(while_away); }));
  EXPECT_EQ(client.downs.at(while_away).code, ErrorCode::unreachable);

  TestRelay again({}, port);
  ASSERT_TRUE(pump({&again, &server, &client}, [&] { return server.transport->is_enrolled(); }));
  const LinkId second = client.connect(server.address);
  ASSERT_TRUE(pump({&again, &server, &client}, [&] { return client.ups.contains(second); }));
  ASSERT_GE(server.notices.size(), 2U);
  EXPECT_NE(server.notices.front().find("not enrolled"), std::string::npos);
  EXPECT_NE(server.notices.front().find("closed the connection"), std::string::npos)
      << server.notices.front();
  EXPECT_NE(server.notices.back().find("enrolled again"), std::string::npos);
}

TEST(RelayEnding, AClosedConnectNeverComesUp) {
  TestRelay relay;
  TestPeer server;
  TestPeer client;
  server.enrol(relay);
  ASSERT_TRUE(pump({&relay, &server}, [&] { return server.transport->is_enrolled(); }));
  const LinkId link = client.connect(server.address);
  client.transport->close(link);
  ASSERT_TRUE(pump({&relay, &server, &client}, [&] { return !client.downs.empty(); }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::none);
  EXPECT_TRUE(client.ups.empty());
  EXPECT_TRUE(server.downs.empty()) << "the server never heard of it";
}

TEST(RelayEnding, APeerThatFallsSilentIsLost) {
  RelayOptions watchful;
  watchful.heartbeat = {std::chrono::milliseconds(50), std::chrono::milliseconds(300)};
  TestPair pair({}, watchful);
  ASSERT_TRUE(pump(
      {&pair.client, &pair.relay}, [&] { return !pair.client.downs.empty(); },
      std::chrono::seconds(5)));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::unreachable);
}

TEST(RelayEnding, ALinkWithNothingToSayStaysUp) {
  RelayOptions watchful;
  watchful.heartbeat = {std::chrono::milliseconds(20), std::chrono::milliseconds(200)};
  TestPair pair(watchful, watchful);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  ASSERT_TRUE(pair.pump([&] { return std::chrono::steady_clock::now() > until; }));
  EXPECT_TRUE(pair.client.downs.empty());
  EXPECT_TRUE(pair.server.downs.empty());
}

TEST(RelayEnding, LinksComeAndGoWithoutLeavingAnythingBehind) {
  TestRelay relay;
  TestPeer server;
  TestPeer client;
  const std::vector<Turned*> all{&relay, &server, &client};
  server.enrol(relay);
  ASSERT_TRUE(pump(all, [&] { return server.transport->is_enrolled(); }));
  for (std::size_t round = 1; round <= 20; ++round) {
    const LinkId link = client.connect(server.address);
    ASSERT_TRUE(pump(all, [&] { return client.ups.contains(link); }));
    ASSERT_EQ(client.send(link, {.id = round}, "x"), Sent::now);
    client.transport->close(link);
    ASSERT_TRUE(
        pump(all, [&] { return client.downs.size() == round && server.downs.size() == round; }));
  }
  EXPECT_EQ(server.received.size(), 20U);
  EXPECT_EQ(server.transport->link_count(), 0U);
  EXPECT_EQ(client.transport->link_count(), 0U);
  ASSERT_TRUE(pump(all, [&] { return relay.server->links() == 0; }));
  EXPECT_EQ(relay.server->counters().links, 20U);
  EXPECT_EQ(relay.server->waiting(), 0U);
}

}  // namespace
}  // namespace godwit::fabric::relay
