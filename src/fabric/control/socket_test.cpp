#include "fabric/control/socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/folder_for_test.hpp"
#include "fabric/control/listener.hpp"

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;

struct Recorder final : ControlEvents {
  void on_frame(Bytes frame, std::vector<Fd>& received) override {
    frames.emplace_back(text_of(frame));
    for (Fd& fd : received) fds.push_back(std::move(fd));
    if (on_frame_hook) on_frame_hook();
  }
  void on_closed(const Error& why) override {
    ++closed;
    error = why;
  }
  std::vector<std::string> frames;
  std::vector<Fd> fds;
  int closed = 0;
  Error error;
  std::function<void()> on_frame_hook;
};

class ControlSocketTest : public ::testing::Test {
 protected:
  bool until(const std::function<bool()>& condition, milliseconds limit = milliseconds(10'000)) {
    const Time deadline = reactor_->now() + limit;
    while (!condition() && reactor_->now() < deadline) reactor_->run_once();
    return condition();
  }
  Address path(const std::string& name) {
    return Address::parse("shm:" + (directory_ / name).string()).value();
  }
  // Two ends of one connection.
  void make_pair(Recorder& a_events, Recorder& b_events) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    a_ = ControlSocket::adopt(*reactor_, Fd(fds[0]), "b", &a_events).value();
    b_ = ControlSocket::adopt(*reactor_, Fd(fds[1]), "a", &b_events).value();
  }

  std::unique_ptr<Reactor> reactor_ = Reactor::create({.spin_us = 0}).value();
  TestFolder directory_;
  std::unique_ptr<ControlSocket> a_;
  std::unique_ptr<ControlSocket> b_;
};

TEST_F(ControlSocketTest, FramesArriveWholeInOrderWhateverTheirSize) {
  Recorder at_a;
  Recorder at_b;
  make_pair(at_a, at_b);
  std::vector<std::string> sent;
  for (const std::size_t size : {1UL, 3UL, 1000UL, 65536UL, 7UL, 65536UL, 30000UL}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    a_->send(bytes_of(sent.back()));
  }
  ASSERT_TRUE(until([&] { return at_b.frames.size() == sent.size(); }));
  EXPECT_EQ(at_b.frames, sent);
}

TEST_F(ControlSocketTest, DescriptorsArriveWithTheFrameThatCarriedThem) {
  Recorder at_a;
  Recorder at_b;
  make_pair(at_a, at_b);
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), "shared", 6), 6);
  std::vector<std::size_t> fds_after_frame;
  at_b.on_frame_hook = [&] { fds_after_frame.push_back(at_b.fds.size()); };
  const int numbers[] = {memory.get(), memory.get()};
  a_->send(bytes_of("none"));
  a_->send(bytes_of("two"), numbers);
  a_->send(bytes_of("none"));
  a_->send(bytes_of("one"), std::span(numbers, 1));
  ASSERT_TRUE(until([&] { return at_b.frames.size() == 4; }));
  EXPECT_EQ(fds_after_frame, (std::vector<std::size_t>{0, 2, 2, 3}));
  char text[7] = {};
  EXPECT_EQ(::pread(at_b.fds[2].get(), text, 6, 0), 6);
  EXPECT_STREQ(text, "shared");
}

TEST_F(ControlSocketTest, PeersEndIsReportedOnceAfterItsLastFrame) {
  Recorder at_a;
  Recorder at_b;
  make_pair(at_a, at_b);
  a_->send(bytes_of("last words"));
  a_->close();
  ASSERT_TRUE(until([&] { return at_b.closed != 0; }));
  EXPECT_EQ(at_b.frames, std::vector<std::string>{"last words"});
  EXPECT_EQ(at_b.error.code, ErrorCode::link_lost);
  EXPECT_EQ(at_a.closed, 0);
  reactor_->run_once();
  EXPECT_EQ(at_b.closed, 1);
}

TEST_F(ControlSocketTest, HandlerMayDestroyTheSocket) {
  Recorder at_a;
  Recorder at_b;
  make_pair(at_a, at_b);
  at_b.on_frame_hook = [&] { b_.reset(); };
  a_->send(bytes_of("one"));
  a_->send(bytes_of("two"));
  ASSERT_TRUE(until([&] { return at_a.closed != 0; }));
  EXPECT_EQ(at_b.frames.size(), 1U);
}

TEST_F(ControlSocketTest, PeerThatDoesNotReadEndsTheSocketAtTheQueueLimit) {
  Recorder at_a;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const Fd silent(fds[1]);
  a_ = ControlSocket::adopt(*reactor_, Fd(fds[0]), "silent", &at_a).value();
  const std::string frame(60'000, 'x');
  int sent = 0;
  for (; a_->is_open() && sent < 200; ++sent) a_->send(bytes_of(frame));
  EXPECT_LT(sent, 60);
  ASSERT_TRUE(until([&] { return at_a.closed == 1; }));
  EXPECT_EQ(at_a.error.code, ErrorCode::unreachable);
}

TEST_F(ControlSocketTest, FramesThatBreakTheLimitsEndTheSocket) {
  for (const std::uint32_t word : {0xFF'FFFFU, 0x0900'0004U, 0x0100'0000U, 0x0100'0004U}) {
    Recorder at_a;
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    const Fd hostile(fds[1]);
    a_ = ControlSocket::adopt(*reactor_, Fd(fds[0]), "hostile", &at_a).value();
    const std::uint32_t bytes[2] = {word, 0};
    ASSERT_EQ(::write(hostile.get(), bytes, 8), 8);
    ASSERT_TRUE(until([&] { return at_a.closed == 1; }));
    EXPECT_EQ(at_a.error.code, ErrorCode::protocol_violation);
    EXPECT_TRUE(at_a.frames.empty());
  }
}

TEST_F(ControlSocketTest, SilentPeerIsDeadWithinTheSilenceAndABeatingOneIsNot) {
  Recorder at_a;
  Recorder at_b;
  make_pair(at_a, at_b);
  const Heartbeat quick{.interval = milliseconds(20), .silence = milliseconds(150)};
  a_->start_heartbeat(quick);
  b_->start_heartbeat(quick);
  EXPECT_FALSE(until([&] { return at_a.closed + at_b.closed != 0; }, milliseconds(500)));

  Recorder at_c;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const Fd silent(fds[1]);
  auto c = ControlSocket::adopt(*reactor_, Fd(fds[0]), "silent", &at_c).value();
  const Time start = reactor_->now();
  c->start_heartbeat(quick);
  ASSERT_TRUE(until([&] { return at_c.closed == 1; }));
  EXPECT_GE(reactor_->now() - start, milliseconds(140));
  EXPECT_EQ(at_c.error.code, ErrorCode::unreachable);
}

TEST_F(ControlSocketTest, UnreachableAddressesSayWhatToCheck) {
  for (const Address& address : {path("nobody.sock"), Address::parse("tcp:127.0.0.1:1").value()}) {
    Recorder events;
    auto socket = ControlSocket::connect(*reactor_, address, events);
    ASSERT_TRUE(socket);
    EXPECT_EQ(events.closed, 0) << "never from inside connect()";
    ASSERT_TRUE(until([&] { return events.closed == 1; }));
    EXPECT_EQ(events.error.code, ErrorCode::unreachable);
    EXPECT_NE(events.error.message.find("is the node running"), std::string::npos);
  }
}

TEST_F(ControlSocketTest, ListenerAcceptsOnUnixAndTcpAndNames) {
  for (const Address& wanted : {path("a.sock"), Address::parse("tcp:127.0.0.1:0").value(),
                                Address::parse("tcp:localhost:0").value()}) {
    Recorder at_server;
    std::unique_ptr<ControlSocket> accepted;
    auto listener = ControlListener::listen(*reactor_, wanted, [&](auto socket) {
      accepted = std::move(socket);
      accepted->set_events(&at_server);
    });
    ASSERT_TRUE(listener) << listener.error().message;
    Recorder at_client;
    auto client = ControlSocket::connect(*reactor_, (*listener)->address(), at_client);
    ASSERT_TRUE(client);
    (*client)->send(bytes_of("hello"));
    ASSERT_TRUE(until([&] { return at_server.frames.size() == 1; }))
        << wanted.to_string() << at_client.error.message;
    accepted.reset();
  }
}

TEST_F(ControlSocketTest, AddressInUseIsToldFromAStaleSocketFile) {
  const auto accept_none = [](auto) {};
  {
    auto first = ControlListener::listen(*reactor_, path("n.sock"), accept_none);
    ASSERT_TRUE(first);
    const auto second = ControlListener::listen(*reactor_, path("n.sock"), accept_none);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::address_in_use);
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "n.sock"));
  // A process that was killed leaves its socket file behind.
  const auto name = unix_address(path("n.sock")).value();
  {
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(dead.get(), name.get(), name.size), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(directory_ / "n.sock"));
  EXPECT_TRUE(ControlListener::listen(*reactor_, path("n.sock"), accept_none));
}

TEST_F(ControlSocketTest, FileInTheWayIsNotRemoved) {
  const Address address = path("data");
  ASSERT_EQ(::close(::open(address.host.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  const auto listener = ControlListener::listen(*reactor_, address, [](auto) {});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, ErrorCode::address_in_use);
  EXPECT_TRUE(std::filesystem::exists(address.host));
}

TEST_F(ControlSocketTest, UnusableListenAddressesAreToldApart) {
  const auto code = [&](const Address& address) {
    return ControlListener::listen(*reactor_, address, [](auto) {}).error().code;
  };
  EXPECT_EQ(code(path(std::string(120, 'x'))), ErrorCode::bad_address);
  EXPECT_EQ(code(path("missing/n.sock")), ErrorCode::bad_address);
  EXPECT_EQ(code(Address::parse("sim:1").value()), ErrorCode::bad_address);
  auto taken =
      ControlListener::listen(*reactor_, Address::parse("tcp:127.0.0.1:0").value(), [](auto) {});
  EXPECT_EQ(code((*taken)->address()), ErrorCode::address_in_use);
}

}  // namespace
}  // namespace godwit::fabric
