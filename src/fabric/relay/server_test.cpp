#include "fabric/relay/server.hpp"

#include <gtest/gtest.h>

#include "fabric/relay/test_peer.hpp"
#include "trace/json_value.hpp"

namespace godwit::fabric::relay {
namespace {

// A process that knows the relay's protocol and does with it what it likes.
struct RawMember {
  explicit RawMember(const TestRelay& at, const trust::FleetKey& with) : relay(at), key(with) {}

  void ask(Turned& turned, const Request& request, Hello self) {
    answered.reset();
    auto made = LinkSetup::as_client(
        *turned.reactor, relay.server->address(), {.self = std::move(self), .key = &key},
        {.data = encode(request), .fds = {}},
        [this](Result<Established> established) { answered.emplace(std::move(established)); });
    ASSERT_TRUE(made);
    setup = *std::move(made);
  }

  const TestRelay& relay;
  const trust::FleetKey& key;
  std::unique_ptr<LinkSetup> setup;
  std::optional<Result<Established>> answered;
};

class RelayServerTest : public testing::Test {
 protected:
  const trust::FleetKey relay_key_ = trust::relay_key_of(test_key());
  Turned turned_;
  const Hello self_{{42}, {1}, {}};
};

TEST_F(RelayServerTest, WhoLacksTheKeyIsToldSoAndNothingElse) {
  TestRelay relay;
  const trust::FleetKey other = trust::FleetKey::generate();
  // The fleet's own key is not the relay's: what is proved to a relay proves nothing to a node.
  for (const trust::FleetKey* key : {&other, &test_key()}) {
    RawMember member(relay, *key);
    member.ask(turned_, {.what = Request::What::enrol}, self_);
    ASSERT_TRUE(pump({&relay, &turned_}, [&] { return member.answered.has_value(); }));
    ASSERT_FALSE(*member.answered);
    EXPECT_EQ(member.answered->error().code, ErrorCode::unauthorised);
  }
  EXPECT_EQ(relay.server->nodes(), 0U);
}

TEST_F(RelayServerTest, ANodeThatIsNotEnrolledIsNotFound) {
  TestRelay relay;
  TestPeer client;
  const LinkId link = client.connect(relay.address(77));
  const LinkId any = client.connect(relay.address());
  ASSERT_TRUE(pump({&relay, &client}, [&] { return client.downs.size() == 2; }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::unreachable) << "not_found would end dialling";
  EXPECT_NE(client.downs.at(link).message.find("not enrolled"), std::string::npos);
  EXPECT_NE(client.downs.at(any).message.find("no other node"), std::string::npos);
  EXPECT_EQ(relay.server->counters().unknown, 2U);
}

TEST_F(RelayServerTest, AnEnrolledNodeThatDoesNotComeIsToldOf) {
  TestRelay relay(
      [](RelayServerOptions& options) { options.meet_timeout = std::chrono::milliseconds(100); });
  RawMember lazy(relay, relay_key_);
  TestPeer client;
  lazy.ask(turned_, {.what = Request::What::enrol}, self_);
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return relay.server->nodes() == 1; }));
  const LinkId link = client.connect(relay.address(self_.node.value));
  ASSERT_TRUE(pump({&relay, &turned_, &client}, [&] { return client.downs.size() == 1; }));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::unreachable);
  EXPECT_NE(client.downs.at(link).message.find("did not come"), std::string::npos)
      << client.downs.at(link).message;
  EXPECT_EQ(relay.server->waiting(), 0U);
}

TEST_F(RelayServerTest, ALaterStartTakesTheNodesPlaceAndAnEarlierOneDoesNot) {
  TestRelay relay;
  RawMember member(relay, relay_key_);
  RawMember again(relay, relay_key_);
  RawMember ghost(relay, relay_key_);
  member.ask(turned_, {.what = Request::What::enrol}, {{42}, {5}, {}});
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return member.answered.has_value(); }));
  again.ask(turned_, {.what = Request::What::enrol}, {{42}, {6}, {}});
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return again.answered.has_value(); }));
  EXPECT_TRUE(*again.answered);
  ghost.ask(turned_, {.what = Request::What::enrol}, {{42}, {5}, {}});
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return ghost.answered.has_value(); }));
  ASSERT_FALSE(*ghost.answered);
  EXPECT_EQ(ghost.answered->error().code, ErrorCode::address_in_use);
  EXPECT_EQ(relay.server->nodes(), 1U);
  EXPECT_EQ(relay.server->counters().replaced, 1U);
}

TEST_F(RelayServerTest, ATokenThatWasNotGivenOutOpensNoMeeting) {
  TestRelay relay;
  RawMember member(relay, relay_key_);
  member.ask(turned_, {.what = Request::What::answer}, self_);
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return member.answered.has_value(); }));
  ASSERT_FALSE(*member.answered);
  EXPECT_EQ(member.answered->error().code, ErrorCode::unreachable);
}

TEST_F(RelayServerTest, LimitsAreKeptAndSaid) {
  TestRelay relay([](RelayServerOptions& options) {
    options.max_nodes = 1;
    options.max_links = 1;
  });
  TestPeer first;
  first.enrol(relay);
  ASSERT_TRUE(pump({&relay, &first}, [&] { return first.transport->is_enrolled(); }));
  TestPeer second;
  second.enrol(relay);
  ASSERT_TRUE(pump({&relay, &first, &second}, [&] { return !second.notices.empty(); }));
  EXPECT_NE(second.notices[0].find("1 nodes"), std::string::npos) << second.notices[0];
  TestPeer client;
  client.connect(first.address);
  ASSERT_TRUE(pump({&relay, &first, &client}, [&] { return client.ups.size() == 1; }));
  const LinkId beyond = client.connect(first.address);
  ASSERT_TRUE(pump({&relay, &first, &client}, [&] { return client.downs.contains(beyond); }));
  EXPECT_NE(client.downs.at(beyond).message.find("1 links"), std::string::npos)
      << client.downs.at(beyond).message;
  EXPECT_GE(relay.server->counters().overload, 2U);
}

TEST_F(RelayServerTest, ALinkOnWhichNothingMovesIsEnded) {
  TestRelay relay(
      [](RelayServerOptions& options) { options.idle_limit = std::chrono::milliseconds(200); });
  RelayOptions silent;
  silent.heartbeat = {std::chrono::hours(1), std::chrono::hours(2)};
  TestPeer server(silent);
  TestPeer client(silent);
  const std::vector<Turned*> all{&relay, &server, &client};
  server.enrol(relay);
  ASSERT_TRUE(pump(all, [&] { return server.transport->is_enrolled(); }));
  client.connect(server.address);
  ASSERT_TRUE(pump(all, [&] { return client.ups.size() == 1 && server.ups.size() == 1; }));
  ASSERT_TRUE(pump(all, [&] { return client.downs.size() == 1 && server.downs.size() == 1; }));
  EXPECT_EQ(relay.server->counters().idle, 1U);
}

TEST_F(RelayServerTest, StatusIsForWhoHoldsTheKey) {
  TestRelay relay;
  RawMember member(relay, relay_key_);
  member.ask(turned_, {.what = Request::What::status}, self_);
  ASSERT_TRUE(pump({&relay, &turned_}, [&] { return member.answered.has_value(); }));
  ASSERT_TRUE(*member.answered);
  const auto json = trace::JsonValue::parse((*member.answered)->payload.data);
  ASSERT_TRUE(json) << (*member.answered)->payload.data;
  EXPECT_EQ((*json)["nodes"].count(), 0U);
  EXPECT_EQ((*json)["address"].text(), relay.server->address().to_string());
}

// A slow receiver holds up its own sender, and nobody else; the relay keeps a pipe of it.
TEST_F(RelayServerTest, ASlowReaderHoldsUpNobodyElse) {
  TestRelay relay;
  TestPeer server;
  TestPeer slow;
  TestPeer quick;
  server.enrol(relay);
  const std::vector<Turned*> all{&relay, &server, &slow, &quick};
  ASSERT_TRUE(pump(all, [&] { return server.transport->is_enrolled(); }));
  const LinkId slow_link = slow.connect(server.address);
  ASSERT_TRUE(pump(all, [&] { return slow.ups.size() == 1 && server.ups.size() == 1; }));
  const LinkId to_slow = server.ups.begin()->first;
  quick.connect(server.address);
  ASSERT_TRUE(pump(all, [&] { return quick.ups.size() == 1 && server.ups.size() == 2; }));
  const LinkId to_quick = server.ups.rbegin()->first == to_slow ? server.ups.begin()->first
                                                                : server.ups.rbegin()->first;
  const std::string body = pattern(32 << 20);
  ASSERT_EQ(server.send(to_slow, {.id = 1}, body, 1), Sent::later);
  ASSERT_EQ(server.send(to_quick, {.id = 2}, body, 2), Sent::later);
  ASSERT_TRUE(pump({&relay, &server, &quick}, [&] { return quick.received.size() == 1; }));
  EXPECT_EQ(server.sent, std::vector<std::uint64_t>{2}) << "32 MiB were taken for the slow one";
  ASSERT_TRUE(pump(all, [&] { return slow.received.size() == 1; }));
  EXPECT_TRUE(text_of(slow.received[0].body.view()) == body);
  slow.transport->close(slow_link);
}

}  // namespace
}  // namespace godwit::fabric::relay
