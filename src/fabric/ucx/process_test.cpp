// The same transport between processes, and what happens when one is killed.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

// A forked process that listens, writes its port to a pipe and echoes until it is killed. Make it
// before any TestPeer: UCX's thread does not survive a fork.
class EchoProcess {
 public:
  EchoProcess() {
    int ends[2];
    if (::pipe(ends) != 0) ADD_FAILURE() << "pipe: " << errno;
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      serve(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    port_fd_ = ends[0];
  }
  EchoProcess(const EchoProcess&) = delete;
  EchoProcess& operator=(const EchoProcess&) = delete;
  ~EchoProcess() {
    kill_now();
    ::close(port_fd_);
  }

  [[nodiscard]] Address address() const {
    std::uint16_t port = 0;
    EXPECT_EQ(::read(port_fd_, &port, sizeof port), static_cast<ssize_t>(sizeof port));
    return {.scheme = Address::Scheme::tcp, .host = "127.0.0.1", .port = port};
  }
  void signal(int number) const { ::kill(child_, number); }
  void kill_now() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  static void serve(int port_fd) {
    TestPeer peer;
    const std::uint16_t port = peer.listen().port;
    if (::write(port_fd, &port, sizeof port) != sizeof port) ::_exit(1);
    ::alarm(60);
    std::map<std::uint64_t, Buffer> lent;
    std::uint64_t next_tag = 1;
    peer.handler = [&](LinkId link, Message& message) {
      Buffer body = message.take_body();
      const Bytes part = body.view();
      const std::uint64_t tag = next_tag++;
      if (peer.transport->send(link, message.header(), {&part, 1}, tag) == Sent::later)
        lent.emplace(tag, std::move(body));
    };
    peer.sent_handler = [&](std::uint64_t tag) { lent.erase(tag); };
    for (;;) {
      if (peer.reactor->run_once() == 0) ::sched_yield();
    }
  }

  pid_t child_ = -1;
  int port_fd_ = -1;
};

TEST(UcxProcess, EchoesBetweenProcesses) {
  EchoProcess echo;
  TestPeer client;
  const LinkId link = client.connect(echo.address());
  ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(link); }));
  for (std::uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(client.send(link, {.id = i}, pattern(64, i)), Sent::now);
    ASSERT_TRUE(pump({&client}, [&] { return client.received.size() == i + 1; }));
    EXPECT_EQ(text_of(client.received.back().body.view()), pattern(64, i));
  }
}

TEST(UcxProcess, AKilledPeerIsReportedWithinTwoSecondsOnce) {
  EchoProcess echo;
  const std::string large = pattern(64 << 20);
  TestPeer client;
  const LinkId link = client.connect(echo.address());
  ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(link); }));
  // Under load: small messages both ways, and a rendezvous that the peer cannot finish.
  ASSERT_EQ(client.send(link, {.id = 1}, large, 1), Sent::later);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.send(link, {.id = 2}, "x"), Sent::now);
  client.reactor->run_once();
  echo.kill_now();
  ASSERT_TRUE(pump({&client}, [&] { return !client.downs.empty(); }, std::chrono::seconds(2)));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::link_lost) << client.downs.at(link).message;
  EXPECT_EQ(client.send(link, {}, "x"), Sent::down);
  EXPECT_EQ(client.transport->link_count(), 0U);
  EXPECT_EQ(client.transport->counters().overdue_sends, 0U);
}

TEST(UcxProcess, ABodyThatWasArrivingFromAKilledPeerGivesItsMemoryBack) {
  EchoProcess echo;
  const std::string large = pattern(40 << 20);
  UcxOptions narrow;
  narrow.inbound_budget_bytes = 40 << 20;
  TestPeer client(narrow);
  const LinkId link = client.connect(echo.address());
  ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(link); }));
  ASSERT_EQ(client.send(link, {.id = 1}, large, 1), Sent::later);
  // The peer has it all and begins to send it back; stop it somewhere in the middle.
  ASSERT_TRUE(pump({&client}, [&] { return client.transport->inbound_bytes() > 0; }));
  echo.signal(SIGSTOP);
  for (int i = 0; i < 3; ++i) client.reactor->run_once();
  echo.kill_now();
  ASSERT_TRUE(pump({&client}, [&] { return !client.downs.empty(); }, std::chrono::seconds(2)));
  ASSERT_TRUE(pump(
      {&client}, [&] { return client.transport->inbound_bytes() == 0; }, std::chrono::seconds(2)));
}

TEST(UcxProcess, AStoppedPeerIsGivenUpAfterItsSilence) {
  EchoProcess echo;
  UcxOptions options;
  options.heartbeat = {.interval = std::chrono::milliseconds(50),
                       .silence = std::chrono::milliseconds(300)};
  TestPeer client(options);
  const LinkId link = client.connect(echo.address());
  ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(link); }));
  echo.signal(SIGSTOP);
  ASSERT_TRUE(pump({&client}, [&] { return !client.downs.empty(); }, std::chrono::seconds(2)));
  EXPECT_EQ(client.downs.at(link).code, ErrorCode::unreachable) << client.downs.at(link).message;
}

// With zero-copy sends UCX 1.13 ends this process; see Worker.
TEST(UcxProcess, APeerKilledInTheMiddleOfALargeSendIsSurvived) {
  constexpr int kPeers = 12;
  EchoProcess peers[kPeers];
  const std::string large = pattern(64 << 20);
  TestPeer client;
  std::chrono::microseconds head_start{0};
  for (EchoProcess& peer : peers) {
    const LinkId link = client.connect(peer.address());
    ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(link); }));
    ASSERT_EQ(client.send(link, {.id = 1}, large, 1), Sent::later);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.send(link, {.id = 2}, "x"), Sent::now);
    const auto kill_at = std::chrono::steady_clock::now() + head_start;
    ASSERT_TRUE(pump({&client}, [&] { return std::chrono::steady_clock::now() >= kill_at; }));
    peer.kill_now();
    ASSERT_TRUE(pump({&client}, [&] { return client.downs.contains(link); }));
    head_start += std::chrono::milliseconds(2);
  }
  EXPECT_EQ(client.transport->counters().overdue_sends, 0U);
}

TEST(UcxProcess, ARestartedPeerGetsANewLink) {
  EchoProcess lives[3];
  TestPeer client;
  std::vector<LinkId> links;
  for (EchoProcess& echo : lives) {
    links.push_back(client.connect(echo.address()));
    ASSERT_TRUE(pump({&client}, [&] { return client.ups.contains(links.back()); }));
    ASSERT_EQ(client.send(links.back(), {}, "x"), Sent::now);
    ASSERT_TRUE(pump({&client}, [&] { return client.received.size() == links.size(); }));
    echo.kill_now();
    ASSERT_TRUE(pump(
        {&client}, [&] { return client.downs.contains(links.back()); }, std::chrono::seconds(2)));
  }
  EXPECT_NE(links[0], links[1]);
  EXPECT_NE(links[1], links[2]);
}

}  // namespace
}  // namespace godwit::fabric::ucx
