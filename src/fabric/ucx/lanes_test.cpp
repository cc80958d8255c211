// Further connections of a link.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <set>

#include "fabric/ucx/test_impostor.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

constexpr std::size_t kLaneBody = std::size_t{3} << 20;
constexpr std::size_t kLaneBodies = 12;

UcxOptions with(std::size_t connections) {
  UcxOptions options;
  options.connections = connections;
  return options;
}

struct Pair : TestPair {
  Pair(std::size_t server_connections, std::size_t client_connections)
      : TestPair(with(server_connections), with(client_connections)) {}

  void send_many(TestPeer& from, LinkId link, std::uint64_t first) {
    for (std::uint64_t i = first; i < first + kLaneBodies; ++i) {
      ASSERT_EQ(from.send(link, {.id = i}, bodies[i % bodies.size()], i), Sent::later);
    }
  }
  void expect_all(const TestPeer& at, std::size_t count) const {
    ASSERT_EQ(at.received.size(), count);
    std::set<std::uint64_t> ids;
    for (const auto& message : at.received) {
      ids.insert(message.header.id);
      EXPECT_TRUE(text_of(message.body.view()) == bodies[message.header.id % bodies.size()]);
    }
    EXPECT_EQ(ids.size(), count);
  }

  const std::vector<std::string> bodies{pattern(kLaneBody, 1), pattern(kLaneBody + 1, 2),
                                        pattern(kLaneBody - 1, 3)};
};

std::set<int> open_sockets() {
  std::set<int> all;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (const dirent* const entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) all.insert(fd);
  }
  ::closedir(folder);
  return all;
}

TEST(UcxLanes, BodiesAreSpreadOnceThereIsMuchToSendWhoeverSends) {
  for (const bool server_sends : {false, true}) {
    Pair pair(4, 4);
    EXPECT_EQ(pair.client.transport->lane_count(), 0U);
    TestPeer& from = server_sends ? pair.server : pair.client;
    TestPeer& to = server_sends ? pair.client : pair.server;
    const LinkId link = server_sends ? pair.server_link : pair.client_link;
    for (std::size_t round = 1; round <= 3; ++round) {
      pair.send_many(from, link, kLaneBodies * round);
      ASSERT_TRUE(pair.pump([&] {
        return to.received.size() == kLaneBodies * round && from.sent.size() == kLaneBodies * round;
      }));
    }
    pair.expect_all(to, 3 * kLaneBodies);
    ASSERT_TRUE(pair.pump([&] {
      return pair.client.transport->lane_count() == 3 && pair.server.transport->lane_count() == 3;
    }));
    EXPECT_EQ(to.transport->inbound_bytes(), 0U);
    pair.client.transport->close(pair.client_link);
    ASSERT_TRUE(
        pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
    EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::none);
    EXPECT_EQ(pair.server.transport->lane_count() + pair.client.transport->lane_count(), 0U);
  }
}

TEST(UcxLanes, ThereAreNoMoreThanTheSideWithFewerWants) {
  for (const auto& [server, client, lanes] :
       {std::array<std::size_t, 3>{1, 4, 0}, {4, 1, 0}, {2, 4, 1}, {4, 2, 1}}) {
    Pair pair(server, client);
    pair.send_many(pair.client, pair.client_link, 0);
    pair.send_many(pair.server, pair.server_link, 0);
    ASSERT_TRUE(pair.pump([&] {
      return pair.server.received.size() == kLaneBodies &&
             pair.client.received.size() == kLaneBodies &&
             pair.server.transport->lane_count() == lanes &&
             pair.client.transport->lane_count() == lanes;
    })) << server
        << " " << client;
    pair.expect_all(pair.server, kLaneBodies);
    pair.expect_all(pair.client, kLaneBodies);
  }
}

TEST(UcxLanes, FewBytesOpenNone) {
  Pair pair(4, 4);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.client.send(pair.client_link, {.id = 0}, pair.bodies[0], i), Sent::later);
    ASSERT_TRUE(pair.pump([&] { return pair.server.received.size() == i + 1; }));
  }
  EXPECT_EQ(pair.client.transport->lane_count(), 0U);
}

TEST(UcxLanes, TheEndOfOneIsTheEndOfTheLink) {
  Pair pair(4, 4);
  const std::set<int> before = open_sockets();
  pair.send_many(pair.client, pair.client_link, 0);
  ASSERT_TRUE(pair.pump([&] { return pair.server.transport->lane_count() == 3; }));
  for (const int fd : open_sockets()) {
    if (before.contains(fd)) continue;
    ASSERT_EQ(::shutdown(fd, SHUT_RDWR), 0);
    break;
  }
  ASSERT_TRUE(pair.pump([&] { return !pair.client.downs.empty() && !pair.server.downs.empty(); }));
  EXPECT_EQ(pair.server.downs.at(pair.server_link).code, ErrorCode::link_lost);
  EXPECT_EQ(pair.client.downs.at(pair.client_link).code, ErrorCode::link_lost);
  EXPECT_EQ(pair.server.transport->inbound_bytes(), 0U);
  // Whoever wants to makes a new one.
  const LinkId again = pair.client.connect(pair.address);
  ASSERT_TRUE(pair.pump([&] { return pair.client.ups.contains(again); }));
}

TEST(UcxLanes, AConnectionWithoutTheTokenOrByAnotherPeerIsRefused) {
  TestPeer server(with(4));
  const Address address = server.listen();
  Impostor peer(server, address);
  const auto refusal = [&](const Hello& self, const std::string& token) {
    const auto made = peer.connect(self, "ucxl" + token);
    return made ? ErrorCode::none : made.error().code;
  };
  const Hello stranger{.node = random_node_id(), .epoch = {1}, .blob = {}};
  Hello later = peer.self();
  later.epoch = {2};
  EXPECT_EQ(refusal(peer.self(), "notatokn"), ErrorCode::unauthorised);
  EXPECT_EQ(refusal(peer.self(), ""), ErrorCode::unauthorised);
  EXPECT_EQ(refusal(peer.self(), peer.token() + "x"), ErrorCode::unauthorised);
  EXPECT_EQ(refusal(peer.self(), std::string(8, '\0')), ErrorCode::unauthorised);
  EXPECT_EQ(refusal(stranger, peer.token()), ErrorCode::unauthorised);
  EXPECT_EQ(refusal(later, peer.token()), ErrorCode::unauthorised);
  EXPECT_EQ(server.transport->lane_count(), 0U);
  EXPECT_TRUE(server.downs.empty()) << "the link itself is none the worse";
  std::vector<Established> lanes;
  for (int i = 0; i < 3; ++i) {
    lanes.push_back(peer.connect(peer.self(), "ucxl" + peer.token()).value());
    ASSERT_TRUE(peer.pump([&] { return server.transport->lane_count() == lanes.size(); }));
  }
  const auto one_more = peer.connect(peer.self(), "ucxl" + peer.token());
  ASSERT_FALSE(one_more);
  EXPECT_NE(one_more.error().message.find("4 connections already"), std::string::npos)
      << one_more.error().message;
}

// Else one chunk could be written to after the body was handed on for the
// other.
TEST(UcxLanes, ABodyThatChangesLanesEndsTheLink) {
  TestPeer server(with(2));
  const Address address = server.listen();
  Impostor peer(server, address);
  const Established lane = peer.connect(peer.self(), "ucxl" + peer.token()).value();
  ASSERT_TRUE(peer.pump([&] { return server.transport->lane_count() == 1; }));
  const std::string chunk = pattern(kLeastUnasked);
  peer.announce({.size = 2 * chunk.size(), .stream = 1}, chunk, 1);
  ASSERT_TRUE(peer.pump([&] { return server.transport->inbound_bytes() != 0; }));
  const Bytes part = bytes_of(chunk);
  lane.socket->send_chunk(1, {&part, 1});
  EXPECT_EQ(peer.end_of_link().code, ErrorCode::protocol_violation);
  EXPECT_TRUE(server.received.empty());
}

}  // namespace
}  // namespace godwit::fabric::ucx
