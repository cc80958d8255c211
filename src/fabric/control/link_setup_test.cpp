#include "fabric/control/link_setup.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_for_test.hpp"
#include "fabric/control/acceptor.hpp"

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;

class LinkSetupTest : public ::testing::Test {
 protected:
  ~LinkSetupTest() override {
    setup_.reset();
    acceptor_.reset();
  }

  bool until(const std::function<bool()>& condition) {
    const Time deadline = reactor_->now() + std::chrono::seconds(10);
    while (!condition() && reactor_->now() < deadline) reactor_->run_once();
    return condition();
  }
  Address address() { return Address::parse("shm:" + (directory_ / "n.sock").string()).value(); }

  void serve(const Address& where, const trust::FleetKey* key, std::size_t max_pending = 64,
             milliseconds timeout = milliseconds(5000)) {
    LinkAcceptor::Options options;
    options.setup.self = {NodeId{1}, Epoch{10}, "server blob"};
    options.setup.key = key;
    options.setup.features = {"x", "server-only"};
    options.setup.timeout = timeout;
    options.max_pending = max_pending;
    auto acceptor = LinkAcceptor::listen(
        *reactor_, where, std::move(options),
        [this](Established& link) -> Result<SetupPayload> {
          if (refuse_) return tl::unexpected(*refuse_);
          link.context = std::make_shared<int>(42);
          SetupPayload mine{"server payload", {}};
          mine.fds.emplace_back(::eventfd(7, EFD_CLOEXEC));
          return mine;
        },
        [this](Established link) { accepted_.push_back(std::move(link)); });
    ASSERT_TRUE(acceptor) << acceptor.error().message;
    acceptor_ = *std::move(acceptor);
  }
  void connect(const trust::FleetKey* key, milliseconds timeout = milliseconds(5000)) {
    LinkSetup::Options options;
    options.self = {NodeId{2}, Epoch{20}, "client blob"};
    options.key = key;
    options.features = {"x", "client-only"};
    options.timeout = timeout;
    SetupPayload mine{"client payload", {}};
    mine.fds.emplace_back(::eventfd(5, EFD_CLOEXEC));
    auto setup = LinkSetup::as_client(*reactor_, acceptor_->address(), std::move(options),
                                      std::move(mine), [this](Result<Established> link) {
                                        connected_.emplace(std::move(link));
                                        setup_.reset();
                                      });
    ASSERT_TRUE(setup) << setup.error().message;
    if (!connected_) setup_ = *std::move(setup);
  }

  trust::FleetKey key_ = trust::FleetKey::generate();
  trust::FleetKey other_key_ = trust::FleetKey::generate();
  std::optional<Error> refuse_;
  std::unique_ptr<Reactor> reactor_ = Reactor::create({.spin_us = 0}).value();
  TestFolder directory_;
  std::unique_ptr<LinkAcceptor> acceptor_;
  std::unique_ptr<LinkSetup> setup_;
  std::vector<Established> accepted_;
  std::optional<Result<Established>> connected_;
};

TEST_F(LinkSetupTest, BothEndsLearnHelloPayloadDescriptorsAndToken) {
  serve(address(), &key_);
  connect(&key_);
  ASSERT_TRUE(until([&] { return connected_.has_value() && !accepted_.empty(); }));
  ASSERT_TRUE(*connected_) << connected_->error().message;
  const Established& client = **connected_;
  const Established& server = accepted_.front();
  EXPECT_EQ(client.peer.node, NodeId{1});
  EXPECT_EQ(client.peer.epoch, Epoch{10});
  EXPECT_EQ(client.peer.blob, "server blob");
  EXPECT_EQ(server.peer.node, NodeId{2});
  EXPECT_EQ(server.peer.blob, "client blob");
  EXPECT_EQ(client.payload.data, "server payload");
  EXPECT_EQ(server.payload.data, "client payload");
  ASSERT_EQ(client.payload.fds.size(), 1U);
  ASSERT_EQ(server.payload.fds.size(), 1U);
  eventfd_t value = 0;
  EXPECT_EQ(::eventfd_read(client.payload.fds[0].get(), &value), 0);
  EXPECT_EQ(value, 7U);
  EXPECT_NE(client.link_token, 0U);
  EXPECT_EQ(client.link_token, server.link_token);
  EXPECT_EQ(client.features, std::vector<std::string>{"x"});
  EXPECT_EQ(*std::static_pointer_cast<int>(server.context), 42);
}

TEST_F(LinkSetupTest, EveryLinkHasItsOwnToken) {
  serve(address(), nullptr);
  for (std::size_t i = 1; i <= 2; ++i) {
    connected_.reset();
    connect(nullptr);
    ASSERT_TRUE(until([&] { return connected_.has_value() && accepted_.size() == i; }));
  }
  EXPECT_NE(accepted_[0].link_token, accepted_[1].link_token);
}

TEST_F(LinkSetupTest, WrongKeyGetsAnErrorThatSaysSoAndNothingElse) {
  serve(address(), &key_);
  for (const trust::FleetKey* key : {static_cast<const trust::FleetKey*>(&other_key_),
                                     static_cast<const trust::FleetKey*>(nullptr)}) {
    connected_.reset();
    connect(key);
    ASSERT_TRUE(until([&] { return connected_.has_value(); }));
    ASSERT_FALSE(*connected_);
    EXPECT_EQ(connected_->error().code, ErrorCode::unauthorised);
    EXPECT_NE(connected_->error().message.find("key"), std::string::npos);
    EXPECT_EQ(connected_->error().message.find("server blob"), std::string::npos);
  }
  EXPECT_TRUE(accepted_.empty());
  ASSERT_TRUE(until([&] { return acceptor_->refused() == 2; }));
}

TEST_F(LinkSetupTest, ServersRefusalReachesTheClient) {
  refuse_ = Error{ErrorCode::unreachable, "the house is full"};
  serve(address(), nullptr);
  connect(nullptr);
  ASSERT_TRUE(until([&] { return connected_.has_value(); }));
  ASSERT_FALSE(*connected_);
  EXPECT_NE(connected_->error().message.find("the house is full"), std::string::npos);
}

TEST_F(LinkSetupTest, WithoutAKeyOnlyThisHostIsServed) {
  for (const char* text : {"tcp:0.0.0.0:0", "tcp:[::]:0"}) {
    const auto acceptor = LinkAcceptor::listen(*reactor_, Address::parse(text).value(), {}, {}, {});
    ASSERT_FALSE(acceptor);
    EXPECT_EQ(acceptor.error().code, ErrorCode::unauthorised);
    EXPECT_NE(acceptor.error().message.find("configure a fleet key"), std::string::npos);
  }
  serve(Address::parse("tcp:127.0.0.1:0").value(), nullptr);
}

TEST_F(LinkSetupTest, SilentClientsAreBoundedAndTimeOut) {
  serve(address(), nullptr, 3, milliseconds(100));
  const auto name = unix_address(address()).value();
  std::vector<Fd> silent;
  for (int i = 0; i < 5; ++i) {
    silent.push_back(open_socket(name).value());
    ASSERT_EQ(::connect(silent.back().get(), name.get(), name.size), 0);
  }
  ASSERT_TRUE(until([&] { return acceptor_->pending() == 3 && acceptor_->refused() == 2; }));
  ASSERT_TRUE(until([&] { return acceptor_->pending() == 0; }));
  EXPECT_EQ(acceptor_->refused(), 5U);
  connect(nullptr);
  ASSERT_TRUE(until([&] { return connected_.has_value(); }));
  EXPECT_TRUE(*connected_);
}

TEST_F(LinkSetupTest, SilentServerTimesOut) {
  serve(address(), nullptr);
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const Fd listener = open_socket(unix_address(address()).value()).value();
  acceptor_.reset();
  const auto name = unix_address(address()).value();
  ASSERT_EQ(::bind(listener.get(), name.get(), name.size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  LinkSetup::Options options;
  options.timeout = milliseconds(50);
  auto setup =
      LinkSetup::as_client(*reactor_, address(), std::move(options), {},
                           [&](Result<Established> link) { connected_.emplace(std::move(link)); });
  ASSERT_TRUE(setup);
  ASSERT_TRUE(until([&] { return connected_.has_value(); }));
  ASSERT_FALSE(*connected_);
  EXPECT_EQ(connected_->error().code, ErrorCode::handshake_failed);
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(LinkSetupTest, GarbageIsRefusedAndTheNextClientServed) {
  serve(address(), nullptr);
  const auto name = unix_address(address()).value();
  const Fd stranger = open_socket(name).value();
  ASSERT_EQ(::connect(stranger.get(), name.get(), name.size), 0);
  const std::string garbage("\x10\0\0\0GET / HTTP/1.1\r\n", 20);
  ASSERT_EQ(::send(stranger.get(), garbage.data(), garbage.size(), 0), 20);
  ASSERT_TRUE(until([&] { return acceptor_->refused() == 1; }));
  connect(nullptr);
  ASSERT_TRUE(until([&] { return connected_.has_value(); }));
  EXPECT_TRUE(*connected_);
}

}  // namespace
}  // namespace godwit::fabric
