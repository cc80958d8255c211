#include <gtest/gtest.h>

#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

TEST(UcxEnding, CloseDeliversWhatWasSentFirst) {
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
}

TEST(UcxEnding, BothSidesMayCloseAtOnce) {
  TestPair pair;
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = i}, "x"), Sent::now);
    ASSERT_EQ(pair.server.send(pair.server_link, {.id = i}, "y"), Sent::now);
  }
  pair.client.transport->close(pair.client_link);
  pair.server.transport->close(pair.server_link);
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
  EXPECT_EQ(pair.server.received.size(), 50U);
  EXPECT_EQ(pair.client.received.size(), 50U);
}

TEST(UcxEnding, CloseOfALinkWhosePeerIsStuckEndsAnyway) {
  UcxOptions impatient;
  impatient.close_limit = std::chrono::milliseconds(100);
  const std::string body = pattern(32 << 20);
  TestPair pair({}, impatient);
  ASSERT_EQ(pair.client.send(pair.client_link, {}, body, 1), Sent::later);
  pair.client.transport->close(pair.client_link);
  // The server does not run: it never takes the body, and never says that it read the bye.
  ASSERT_TRUE(
      pump({&pair.client}, [&] { return !pair.client.downs.empty(); }, std::chrono::seconds(3)));
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::none);
  EXPECT_EQ(pair.client.transport->counters().overdue_sends, 0U);
  EXPECT_TRUE(pair.client.sent.empty()) << "on_down released the body";
  ASSERT_TRUE(pair.pump([&] { return !pair.server.downs.empty(); }));
}

TEST(UcxEnding, APeerThatGoesAwayTakesItsLinkAndRequestsDown) {
  const std::string body = pattern(32 << 20);
  TestPeer server;
  auto client = std::make_unique<TestPeer>();
  const Address address = server.listen();
  client->connect(address);
  ASSERT_TRUE(pump({&server, client.get()}, [&] { return server.ups.size() == 1; }));
  const LinkId link = server.ups.begin()->first;
  ASSERT_EQ(server.send(link, {}, body, 1), Sent::later);
  client.reset();
  ASSERT_TRUE(pump({&server}, [&] { return !server.downs.empty(); }, std::chrono::seconds(2)));
  EXPECT_EQ(server.downs.at(link).code, ErrorCode::link_lost) << server.downs.at(link).message;
  EXPECT_EQ(server.transport->counters().overdue_sends, 0U);
  EXPECT_EQ(server.send(link, {}, "x"), Sent::down);
  EXPECT_EQ(server.transport->link_count(), 0U);
}

TEST(UcxEnding, AConnectToNobodyIsReportedOnce) {
  TestPeer peer;
  Address nobody = peer.listen();
  peer.transport.reset();
  TestPeer client;
  const LinkId link = client.connect(nobody);
  ASSERT_TRUE(pump({&client}, [&] { return !client.downs.empty(); }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::unreachable) << client.downs.at(link).message;
  EXPECT_TRUE(client.ups.empty());
  EXPECT_EQ(client.transport->link_count(), 0U);
}

TEST(UcxEnding, AConnectToASilentPeerTimesOut) {
  TestPeer server;
  const Address address = server.listen();  // accepts in the kernel; nobody runs it
  UcxOptions impatient;
  impatient.connect_timeout = std::chrono::milliseconds(200);
  TestPeer client(impatient);
  const LinkId link = client.connect(address);
  ASSERT_TRUE(pump({&client}, [&] { return !client.downs.empty(); }, std::chrono::seconds(3)));
  EXPECT_NE(client.downs.at(link).code, ErrorCode::none);
  EXPECT_EQ(client.transport->link_count(), 0U);
}

TEST(UcxEnding, AClosedConnectNeverComesUp) {
  TestPeer server;
  TestPeer client;
  const LinkId link = client.connect(server.listen());
  client.transport->close(link);
  ASSERT_TRUE(pump({&server, &client}, [&] { return !client.downs.empty(); }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::none);
  EXPECT_TRUE(client.ups.empty());
  EXPECT_TRUE(server.downs.empty()) << "the server never heard of it";
}

TEST(UcxEnding, LinksComeAndGoWithoutLeavingAnythingBehind) {
  TestPeer server;
  TestPeer client;
  const Address address = server.listen();
  for (std::size_t round = 1; round <= 20; ++round) {
    const LinkId link = client.connect(address);
    ASSERT_TRUE(pump({&server, &client}, [&] { return client.ups.contains(link); }));
    ASSERT_EQ(client.send(link, {.id = round}, "x"), Sent::now);
    client.transport->close(link);
    ASSERT_TRUE(pump({&server, &client},
                     [&] { return client.downs.size() == round && server.downs.size() == round; }));
  }
  EXPECT_EQ(server.received.size(), 20U);
  EXPECT_EQ(server.transport->link_count(), 0U);
  EXPECT_EQ(client.transport->link_count(), 0U);
}

}  // namespace
}  // namespace godwit::fabric::ucx
