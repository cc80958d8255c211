// What strangers, and a relay that is not to be trusted, can do.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "fabric/control/listener.hpp"
#include "fabric/relay/test_peer.hpp"

namespace godwit::fabric::relay {
namespace {

Fd plain_connection(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(port);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  return fd;
}

bool has_ended(const Fd& fd) {
  char byte = 0;
  ssize_t got = 0;
  while ((got = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT)) > 0) continue;
  return got == 0 || (errno != EAGAIN && errno != EINTR);
}

TEST(RelayHostile, GarbageHalfFramesAndSilenceEndTheirConnection) {
  TestRelay relay([](RelayServerOptions& options) {
    options.handshake_timeout = std::chrono::milliseconds(200);
  });
  const std::string offer_begun("\x40\0\0\0GDW", 7);
  for (const std::string& said : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\xff'),
                                  offer_begun, std::string()}) {
    const Fd stranger = plain_connection(relay.server->address().port);
    if (!said.empty()) {
      ASSERT_GT(::send(stranger.get(), said.data(), said.size(), MSG_NOSIGNAL), 0);
    }
    EXPECT_TRUE(pump({&relay}, [&] { return has_ended(stranger); }, std::chrono::seconds(5)));
  }
  EXPECT_EQ(relay.server->nodes(), 0U);
}

TEST(RelayHostile, AFloodOfConnectionsIsCutAndMembersGetInAfterwards) {
  TestRelay relay([](RelayServerOptions& options) {
    options.max_handshakes = 4;
    options.handshake_timeout = std::chrono::milliseconds(300);
  });
  std::vector<Fd> flood;
  for (int i = 0; i < 64; ++i) flood.push_back(plain_connection(relay.server->address().port));
  const auto cut = [&] { return std::ranges::count_if(flood, has_ended); };
  ASSERT_TRUE(pump({&relay}, [&] { return cut() >= 60; }, std::chrono::seconds(5)));
  TestPeer member;
  member.enrol(relay);
  EXPECT_TRUE(pump({&relay, &member}, [&] { return member.transport->is_enrolled(); }));
}

// A relay that looks at and touches what passes: each peer's connection, and a grip on the bytes.
class CrookedRelay : public Turned {
 public:
  // Sits before an honest one.
  explicit CrookedRelay(const TestRelay& honest) : honest_(honest) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size);
    address_ = honest.address();
    address_.port = ntohs(name.sin_port);
  }
  [[nodiscard]] Address address(std::uint64_t node) const {
    Address address = address_;
    address.index = node;
    return address;
  }
  void turn() {
    Fd from(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (from) pairs_.push_back({std::move(from), plain_connection(honest_.server->address().port)});
    for (Pair& pair : pairs_) {
      move(pair.client, pair.relay, true);
      move(pair.relay, pair.client, false);
    }
  }
  // Applied to what clients send.
  std::function<void(std::string&)> touch;
  std::string seen;

 private:
  struct Pair {
    Fd client;
    Fd relay;
  };
  void move(const Fd& from, const Fd& to, bool of_client) {
    std::string bytes(65536, '\0');
    const ssize_t got = ::recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) ::shutdown(to.get(), SHUT_WR);
    if (got <= 0) return;
    bytes.resize(static_cast<std::size_t>(got));
    seen += bytes;
    if (of_client && touch) touch(bytes);
    if (!bytes.empty()) (void)::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  const TestRelay& honest_;
  Fd listener_;
  Address address_;
  std::vector<Pair> pairs_;
};

// A link whose client's bytes pass through a crooked relay.
class CrookedRelayTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.self.blob = "a name to keep to oneself";
    client_.self.blob = "another name to keep";
    server_.enrol(relay_);
    ASSERT_TRUE(turn([&] { return server_.transport->is_enrolled(); }));
    link_ = client_.connect(crooked_.address(server_.self.node.value));
    ASSERT_TRUE(turn([&] { return client_.ups.size() == 1 && server_.ups.size() == 1; }));
    server_link_ = server_.ups.begin()->first;
  }
  testing::AssertionResult turn(const std::function<bool()>& condition) {
    return pump({&relay_, &server_, &client_}, [&] {
      crooked_.turn();
      return condition();
    });
  }

  TestRelay relay_;
  CrookedRelay crooked_{relay_};
  TestPeer server_;
  TestPeer client_;
  LinkId link_;
  LinkId server_link_;
};

TEST_F(CrookedRelayTest, SeesNeitherHellosNorMessagesNorTheKey) {
  ASSERT_EQ(client_.send(link_, {.id = 1}, "attack at dawn"), Sent::now);
  const std::string large = "attack at dusk" + std::string(300'000, '.');
  ASSERT_EQ(client_.send(link_, {.id = 2}, large, 1), Sent::later);
  ASSERT_TRUE(turn([&] { return server_.received.size() == 2; }));
  for (const char* secret : {"attack", "name to keep", "....", "hello"}) {
    EXPECT_EQ(crooked_.seen.find(secret), std::string::npos) << secret;
  }
  EXPECT_EQ(crooked_.seen.find(test_key().hex()), std::string::npos);
}

TEST_F(CrookedRelayTest, ABitFlippedInARecordEndsTheLinkAndIsNotDelivered) {
  crooked_.touch = [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; };
  ASSERT_EQ(client_.send(link_, {.id = 1}, "attack at dawn"), Sent::now);
  ASSERT_TRUE(turn([&] { return !server_.downs.empty(); }));
  EXPECT_EQ(server_.downs.at(server_link_).code, ErrorCode::protocol_violation)
      << server_.downs.at(server_link_).message;
  EXPECT_TRUE(server_.received.empty());
  EXPECT_EQ(server_.transport->counters().unsealed, 1U);
}

TEST_F(CrookedRelayTest, APieceOfALargeBodyThatWasTouchedIsNeverDelivered) {
  std::size_t passed = 0;
  crooked_.touch = [&](std::string& bytes) {
    passed += bytes.size();
    if (passed > 200'000) bytes.back() ^= 1;
  };
  const std::string large = pattern(1 << 20);
  ASSERT_EQ(client_.send(link_, {.id = 1}, large, 1), Sent::later);
  ASSERT_TRUE(turn([&] { return !server_.downs.empty(); }));
  EXPECT_TRUE(server_.received.empty());
  EXPECT_EQ(server_.transport->inbound_bytes(), 0U);
}

TEST_F(CrookedRelayTest, ARecordThatIsRepeatedEndsTheLink) {
  bool once = false;
  crooked_.touch = [&](std::string& bytes) {
    if (!std::exchange(once, true)) bytes += bytes;
  };
  ASSERT_EQ(client_.send(link_, {.id = 1}, "pay 100"), Sent::now);
  ASSERT_TRUE(turn([&] { return !server_.downs.empty(); }));
  EXPECT_EQ(server_.received.size(), 1U) << "it arrived twice, or not at all";
}

TEST_F(CrookedRelayTest, ARecordThatIsLeftOutEndsTheLinkAtTheNext) {
  crooked_.touch = [](std::string& bytes) { bytes.clear(); };
  ASSERT_EQ(client_.send(link_, {.id = 1}, "do not pay"), Sent::now);
  ASSERT_TRUE(turn([&] { return client_.transport->link_count() == 1; }));
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  ASSERT_TRUE(turn([&] { return std::chrono::steady_clock::now() > until; }));
  crooked_.touch = {};
  ASSERT_EQ(client_.send(link_, {.id = 2}, "pay"), Sent::now);
  ASSERT_TRUE(turn([&] { return !server_.downs.empty(); }));
  EXPECT_TRUE(server_.received.empty());
}

TEST_F(CrookedRelayTest, ALinkThatIsCutShortIsNotTakenForAFarewell) {
  client_.transport.reset();
  ASSERT_TRUE(turn([&] { return !server_.downs.empty(); }));
  EXPECT_EQ(server_.downs.at(server_link_).code, ErrorCode::unreachable);
}

TEST(RelayHostile, AMemberOfTheRelayWithoutTheFleetKeyIsNoPeer) {
  // Holds the relay's key, as the relay's operator does, and makes up a fleet key.
  TestRelay relay;
  TestPeer server;
  server.enrol(relay);
  ASSERT_TRUE(pump({&relay, &server}, [&] { return server.transport->is_enrolled(); }));
  Turned operator_;
  const trust::FleetKey relay_key = trust::relay_key_of(test_key());
  const trust::FleetKey made_up = trust::FleetKey::generate();
  std::unique_ptr<LinkSetup> setup;
  std::optional<Error> refused;
  auto first = LinkSetup::as_client(
      *operator_.reactor, relay.server->address(), {.self = {{9}, {1}, {}}, .key = &relay_key},
      {.data = encode(Request{.what = Request::What::dial, .node = server.self.node}), .fds = {}},
      [&](Result<Established> in) {
        ASSERT_TRUE(in) << in.error().message;
        setup = LinkSetup::as_client(
            *operator_.reactor, std::move(in->socket), {.self = {{9}, {1}, {}}, .key = &made_up},
            {.data = std::string("seal") + std::string(33, '\1'), .fds = {}},
            [&](Result<Established> peer) {
              if (!peer) refused = peer.error();
            });
      });
  ASSERT_TRUE(first);
  ASSERT_TRUE(pump({&relay, &server, &operator_}, [&] { return refused.has_value(); }));
  EXPECT_EQ(refused->code, ErrorCode::unauthorised);
  EXPECT_TRUE(server.ups.empty());
  EXPECT_TRUE(pump({&relay, &server}, [&] { return server.transport->link_count() == 0; }));
}

}  // namespace
}  // namespace godwit::fabric::relay
