// Sleeping and waking: two reactors with their own threads. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "base/seeds_for_test.hpp"
#include "fabric/shm/test_peer.hpp"

namespace godwit::fabric::shm {
namespace {

using std::chrono::seconds;

// Burns a random little time, so that messages meet every stage of falling asleep.
void dawdle(std::mt19937& random, std::uint64_t limit) {
  for (std::uint64_t i = random() % limit; i > 0; --i) cpu_relax();
}

struct Pair {
  Pair(std::int64_t spin_us, std::size_t ring_size)
      : server({.ring_size = ring_size}, {.name = "server", .spin_us = spin_us}),
        client({.ring_size = ring_size}, {.name = "client", .spin_us = spin_us}) {
    EXPECT_TRUE(server.transport->listen(directory.socket()));
    EXPECT_TRUE(client.transport->connect(directory.socket()));
    EXPECT_TRUE(
        until({&client, &server}, [&] { return !client.ups.empty() && !server.ups.empty(); }));
  }
  void start() {
    ASSERT_TRUE(server.reactor->start());
    ASSERT_TRUE(client.reactor->start());
  }
  void stop() {
    client.reactor->stop();
    server.reactor->stop();
  }
  ScratchDirectory directory;
  Peer server;
  Peer client;
};

TEST(ShmWakeup, EveryPingIsAnsweredHoweverTheEndsSleep) {
  const Seed seed(0);
  for (const std::int64_t spin_us : {0, 3, 50}) {
    Pair pair(spin_us, kMinRingSize);
    Peer& server = pair.server;
    Peer& client = pair.client;
    Waiter* waiter = nullptr;  // the client's owner's
    server.on_message_hook = [&](LinkId link, Message& message) {
      EXPECT_EQ(server.send(link, message.header().id, message.body()), Sent::now);
    };
    client.on_message_hook = [&](LinkId, Message&) { waiter->complete(); };
    ASSERT_NO_FATAL_FAILURE(pair.start());
    std::mt19937 random(seed.value() + static_cast<std::uint64_t>(spin_us));
    const auto body = pattern(40, 1);
    for (int i = 0; i < 2000; ++i) {
      Waiter done;
      const auto send = [&] {
        waiter = &done;
        EXPECT_EQ(client.send(client.ups[0], 1, body), Sent::now);
      };
      if (!client.reactor->try_run_as_owner(send)) client.reactor->post(send);
      dawdle(random, 1000);
      // A lost wake-up shows as a wait that ends with its last look, at the deadline.
      const Time start = client.reactor->now();
      ASSERT_TRUE(client.reactor->wait(done, start + seconds(20)));
      ASSERT_LT(client.reactor->now() - start, seconds(10)) << "spin " << spin_us << ", ping " << i;
    }
    pair.stop();
  }
}

TEST(ShmWakeup, SenderThatSleepsOnAFullRingIsWokenWhenThereIsRoom) {
  Pair pair(0, kMinRingSize);
  constexpr std::uint64_t kMessages = 3000;
  std::atomic<std::uint64_t> received{0};
  const Seed seed(3);
  std::mt19937 random(seed.value());
  pair.server.on_message_hook = [&](LinkId, Message& message) {
    EXPECT_EQ(message.body().size(), 4000U);
    dawdle(random, 100);
    received.fetch_add(1);
  };
  ASSERT_NO_FATAL_FAILURE(pair.start());
  pair.client.reactor->post([&] {
    const auto body = pattern(4000, 1);
    for (std::uint64_t i = 0; i < kMessages; ++i)
      EXPECT_EQ(pair.client.send(pair.client.ups[0], i, body), Sent::now);
  });
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (received.load() < kMessages && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(received.load(), kMessages);
  pair.stop();
}

TEST(ShmWakeup, StreamsAndPingsFromSeveralThreadsAllArrive) {
  const Seed seed(0);
  Pair pair(20, 256 * 1024);
  Peer& server = pair.server;
  Peer& client = pair.client;
  constexpr std::size_t kThreads = 3;
  constexpr int kRounds = 60;
  std::array<Waiter*, kThreads> waiting{};  // by sender; the client's owner's
  server.on_message_hook = [&](LinkId link, Message& message) {
    wire::Header header = message.header();
    header.aux = static_cast<std::uint32_t>(message.body().size());
    EXPECT_EQ(server.transport->send(link, header, {}, 0), Sent::now);
  };
  client.on_message_hook = [&](LinkId, Message& message) {
    EXPECT_EQ(message.header().aux, message.header().subject);
    waiting[message.header().id]->complete();
  };
  ASSERT_NO_FATAL_FAILURE(pair.start());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed.value() + t);
      for (int i = 0; i < kRounds; ++i) {
        const auto body = pattern(random() % 2 == 0 ? 64 : 300'000, t);
        Waiter done;
        const auto send = [&] {
          waiting[t] = &done;
          wire::Header header;
          header.id = t;
          header.subject = body.size();
          const Bytes part(body);
          EXPECT_NE(client.transport->send(client.ups[0], header, {&part, 1}, 0), Sent::down);
        };
        if (!client.reactor->try_run_as_owner(send)) client.reactor->post(send);
        ASSERT_TRUE(client.reactor->wait(done, client.reactor->now() + seconds(20))) << t << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pair.stop();
}

}  // namespace
}  // namespace godwit::fabric::shm
