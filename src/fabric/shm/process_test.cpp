// The transport between real processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <random>

#include "base/seeds_for_test.hpp"
#include "fabric/shm/test_peer.hpp"
#include "fabric/test_child.hpp"

namespace godwit::fabric::shm {
namespace {

void serve_echo(const Address& address) {
  Peer server;
  std::map<std::uint64_t, Buffer> lent;
  std::uint64_t next_tag = 1;
  server.on_message_hook = [&](LinkId link, Message& message) {
    const std::uint64_t tag = next_tag++;
    Buffer& body = lent[tag] = message.take_body();
    const Bytes view = body.view();
    if (server.transport->send(link, message.header(), {&view, 1}, tag) != Sent::later)
      lent.erase(tag);
  };
  if (!server.transport->listen(address)) ::_exit(1);
  while (true) {
    if (server.reactor->run_once() == 0) std::this_thread::yield();
    for (const std::uint64_t tag : server.sent) lent.erase(tag);
    server.sent.clear();
  }
}

// Connects to a server that may still be starting.
void connect_to(Peer& client, const Address& address) {
  ASSERT_TRUE(until({&client}, [&] {
    if (client.ups.empty() && client.downs.size() == client.received.size()) {
      client.received.emplace_back();  // counts attempts
      EXPECT_TRUE(client.transport->connect(address));
    }
    return !client.ups.empty();
  }));
  client.received.clear();
  client.downs.clear();
}

TEST(ShmProcess, MessagesOfAllSizesEchoBetweenProcesses) {
  const ScratchDirectory directory;
  const ChildProcess child([&] { serve_echo(directory.socket()); });
  Peer client;
  ASSERT_NO_FATAL_FAILURE(connect_to(client, directory.socket()));
  const Seed seed(7);
  std::mt19937 random(seed.value());
  for (std::uint64_t id = 1; id <= 500; ++id) {
    const std::size_t size = id % 50 == 0 ? random() % (4 << 20) : random() % 20'000;
    const auto body = pattern(size, id);
    client.received.clear();
    ASSERT_NE(client.send(client.ups[0], id, body), Sent::down);
    ASSERT_TRUE(until({&client}, [&] { return client.received.size() == 1; })) << id;
    ASSERT_TRUE(client.received[0].body == body) << id;
  }
}

TEST(ShmProcess, PeerKilledInTheMiddleOfAStreamIsNoticedAndNothingIsLeft) {
  const ScratchDirectory directory;
  Peer server({.ring_size = kMinRingSize});
  ASSERT_TRUE(server.transport->listen(directory.socket()));
  for (int round = 0; round < 5; ++round) {
    server.ups.clear();
    server.downs.clear();
    server.received.clear();
    ChildProcess child([&] {
      Peer client;
      if (!client.transport->connect(directory.socket())) ::_exit(1);
      (void)until({&client}, [&] { return !client.ups.empty(); });
      const std::vector<std::byte> large(64 << 20);
      (void)client.send(client.ups[0], 1, pattern(100, 2));
      (void)client.send(client.ups[0], 2, large);
      while (true) (void)until({&client}, [] { return false; });
    });
    ASSERT_TRUE(until({&server}, [&] { return server.received.size() == 1; }));
    for (int i = 0; i < 20 * round; ++i) server.reactor->run_once();
    child.kill();
    const Time killed = server.reactor->now();
    ASSERT_TRUE(until({&server}, [&] { return !server.downs.empty(); }));
    EXPECT_LT(server.reactor->now() - killed, std::chrono::seconds(2));
    EXPECT_EQ(server.downs[0].second.code, ErrorCode::link_lost);
    EXPECT_EQ(server.downs.size(), 1U);
  }
}

TEST(ShmProcess, WhatADeadPeerHadSentIsDeliveredBeforeItsEnd) {
  const ScratchDirectory directory;
  Peer server;
  ASSERT_TRUE(server.transport->listen(directory.socket()));
  std::vector<std::string> story;
  int up[2];
  ASSERT_EQ(::pipe(up), 0);
  {
    ChildProcess child([&] {
      Peer client;
      if (!client.transport->connect(directory.socket())) ::_exit(1);
      (void)until({&client}, [&] { return !client.ups.empty(); });
      for (std::uint64_t id = 1; id <= 100; ++id)
        (void)client.send(client.ups[0], id, pattern(200, id));
      (void)!::write(up[1], "x", 1);
      ::pause();
    });
    // Only until the link is up: the messages arrive while nobody looks.
    ASSERT_TRUE(until({&server}, [&] { return !server.ups.empty(); }));
    char byte = 0;
    ASSERT_EQ(::read(up[0], &byte, 1), 1);
  }
  ASSERT_TRUE(until({&server}, [&] { return !server.downs.empty(); }));
  EXPECT_EQ(server.received.size(), 100U);
  EXPECT_EQ(server.downs[0].second.code, ErrorCode::link_lost);
  ::close(up[0]);
  ::close(up[1]);
}

TEST(ShmProcess, SocketOfAKilledServerIsTakenOverByItsSuccessor) {
  const ScratchDirectory directory;
  Peer client;
  for (int round = 0; round < 2; ++round) {
    ChildProcess child([&] { serve_echo(directory.socket()); });
    client.ups.clear();
    ASSERT_NO_FATAL_FAILURE(connect_to(client, directory.socket()));
    child.kill();
    ASSERT_TRUE(until({&client}, [&] { return !client.downs.empty(); }));
    client.downs.clear();
  }
}

TEST(ShmProcess, LongBodyOfMoreThanAGibibyteArrives) {
  const ScratchDirectory directory;
  constexpr std::size_t kSize = (std::size_t{3} << 29) + 12'345;
  // Each ring full costs both a turn on their cores: on a busy machine thousands take minutes.
  Peer server({.ring_size = std::size_t{16} << 20});
  ASSERT_TRUE(server.transport->listen(directory.socket()));
  const ChildProcess child([&] {
    Peer client;
    if (!client.transport->connect(directory.socket())) ::_exit(1);
    (void)until({&client}, [&] { return !client.ups.empty(); });
    std::vector<std::byte> body(kSize);
    for (std::size_t i = 0; i < kSize; i += 4096) body[i] = static_cast<std::byte>(i >> 12);
    body.back() = std::byte{42};
    (void)client.send(client.ups[0], 1, body);
    while (true) (void)until({&client}, [] { return false; });
  });
  bool arrived = false;
  server.on_message_hook = [&](LinkId, Message& message) {
    const Buffer body = message.take_body();
    ASSERT_EQ(body.size(), kSize);
    for (std::size_t i = 0; i < kSize; i += 4096)
      ASSERT_EQ(body.data()[i], static_cast<std::byte>(i >> 12));
    EXPECT_EQ(body.data()[kSize - 1], std::byte{42});
    arrived = true;
  };
  EXPECT_TRUE(until({&server}, [&] { return arrived; }, std::chrono::milliseconds(100'000)));
}

}  // namespace
}  // namespace godwit::fabric::shm
