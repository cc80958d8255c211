// Topics in Redis: what is not the same as at a node, and servers, consumers and producers that
// die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "godwit/ref.hpp"
#include "godwit/stream.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"
#include "ref/channel/redis/redis_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ref::RedisForTest;

using Out = Producer<std::uint64_t>;
using In = Consumer<std::uint64_t>;

// A process that does something, says so, and waits to be killed.
class Victim {
 public:
  explicit Victim(const std::function<void()>& act) {
    EXPECT_EQ(::pipe(done_), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    act();
    static_cast<void>(::write(done_[1], "x", 1));
    for (;;) ::pause();
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() {
    kill();
    for (const int fd : done_) ::close(fd);
  }
  void wait() {
    char c = 0;
    EXPECT_EQ(::read(done_[0], &c, 1), 1);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  int done_[2]{};
  pid_t pid_ = -1;
};

std::set<std::uint64_t> read_all(In& in) {
  std::set<std::uint64_t> seen;
  while (auto item = good(in.next(30s))) {
    seen.insert(**item);
    item->ack();
  }
  return seen;
}

TEST(StreamRedis, AServerThatIsKilledInTheMiddleLosesNothingThatItConfirmed) {
  constexpr std::uint64_t kItems = 3000;
  RedisForTest server({.lasting = true});
  const Broker broker = good(Broker::connect(server.url()));
  std::atomic<std::uint64_t> sent = 0;
  std::thread produces([&] {
    auto out = good(Out::open(broker, "t", {.batch_items = 10}));
    for (std::uint64_t i = 0; i < kItems; ++i) {
      good(out.send(i));
      ++sent;
    }
    good(out.close());
  });
  std::set<std::uint64_t> seen;
  std::thread consumes([&] {
    auto in = good(In::join(broker, "t", "all", {.lease = 500ms, .items = 50}));
    seen = read_all(in);
  });
  for (const std::uint64_t when : {kItems / 3, 2 * kItems / 3}) {
    while (sent < when) std::this_thread::yield();
    server.kill();
    server.start();
  }
  produces.join();
  consumes.join();
  EXPECT_EQ(seen.size(), kItems);
  const TopicStatus status = good(topic_status(broker, "t"));
  EXPECT_EQ(status.end, kItems) << "nothing was appended twice";
  EXPECT_EQ(status.kept_bytes, 0);
}

TEST(StreamRedis, AServerThatLostItsDataIsAnErrorForBothSidesAndNotANewTopic) {
  RedisForTest server;
  const Broker broker = good(Broker::connect(server.url()));
  auto out = good(Out::open(broker, "t", {.linger = 0ns}));
  auto in = good(In::join(broker, "t", "all"));
  good(out.send(std::uint64_t{1}));
  const auto item = good(in.next(10s));
  server.kill();
  server.start();
  expect_error(out.send(std::uint64_t{2}), ErrorCode::not_found, "lost");
  expect_error(in.next(10s), ErrorCode::not_found, "lost");
  EXPECT_EQ(**item, 1) << "what was read stays";
}

TEST(StreamRedis, AServerThatIsAwayIsAnErrorInTimeAndServesAgainWhenItIsBack) {
  RedisForTest server({.lasting = true});
  const Broker broker = good(Broker::connect(server.url("timeout_ms=300&away_ms=300")));
  auto out = good(Out::open(broker, "t", {.linger = 1h}));
  auto in = good(In::join(broker, "t", "all"));
  server.kill();
  const auto begin = Clock::now();
  expect_error(in.next(1h), ErrorCode::unreachable, server.address());
  good(out.send(std::uint64_t{1}));
  expect_error(out.flush(), ErrorCode::unreachable, server.address());
  EXPECT_LT(Clock::now() - begin, 5s);
  server.start();
  good(out.flush());
  server.stop_answering();
  expect_error(in.next(1h), ErrorCode::unreachable);
  server.answer_again();
  EXPECT_EQ(**good(in.next(10s)), 1);
}

TEST(StreamRedis, WhatAKilledConsumerHadGoesToAnotherAfterItsLease) {
  const RedisForTest server;
  Victim victim([&] {
    const Broker broker = good(Broker::connect(server.url()));
    auto out = good(Out::open(broker, "t"));
    for (std::uint64_t i = 0; i < 10; ++i) good(out.send(i));
    good(out.close());
    static auto in = good(In::join(broker, "t", "all", {.items = 4}));
    static auto item = good(in.next(10s));
    item->ack();
  });
  victim.wait();
  victim.kill();
  const Broker broker = good(Broker::connect(server.url()));
  auto in = good(In::join(broker, "t", "all", {.lease = 300ms}));
  std::set<std::uint64_t> seen;
  while (auto item = good(in.next(30s))) {
    EXPECT_EQ(item->deliveries(), **item < 4 ? 2 : 1);
    seen.insert(**item);
    item->ack();
  }
  // The ack of the first one was kept back, to go with others.
  EXPECT_EQ(seen.size(), 10);
  EXPECT_EQ(good(topic_status(broker, "t")).kept_bytes, 0);
}

TEST(StreamRedis, WhatDidNotArriveComesAgainAfterTheLeaseAndTheEndAfterThat) {
  const RedisForTest server;
  const Broker broker = good(Broker::connect(server.url()));
  auto out = good(Out::open(broker, "t"));
  auto in = good(In::join(broker, "t", "all", {.lease = 300ms}));
  for (std::uint64_t i = 0; i < 3; ++i) good(out.send(i));
  good(out.close());
  // As if the server's answer had been lost.
  const std::string take =
      "local who = redis.call('XINFO', 'CONSUMERS', KEYS[1], 'all')[1][2] "
      "return #redis.call('XREADGROUP', 'GROUP', 'all', who, 'COUNT', 2, 'STREAMS', KEYS[1], '>')";
  ASSERT_EQ(server.ask({"EVAL", take, "1", "godwit:{t}"}), "1");
  EXPECT_EQ(read_all(in).size(), 3);
}

TEST(StreamRedis, AKilledSoleProducerIsAnErrorAfterItsLastItemLong) {
  const RedisForTest server;
  Victim victim([&] {
    const Broker broker = good(Broker::connect(server.url()));
    static auto out = good(Out::open(broker, "t", {.sole = true}));
    good(out.send(std::uint64_t{41}));
    good(out.flush());
  });
  victim.wait();
  const Broker broker = good(Broker::connect(server.url()));
  auto in = good(In::join(broker, "t", "all"));
  good(in.next(10s))->ack();
  expect_error(in.next(9s), ErrorCode::deadline);  // it lives
  victim.kill();
  expect_error(in.next(30s), ErrorCode::node_lost, "producer");
}

TEST(StreamRedis, LargeItemsAreObjectsAtTheNodeAndGoWithTheLastAck) {
  const RedisForTest server;
  const Fleet fleet = local(2, {});
  const NodeHandle node = fleet.node(1);
  const Broker broker = good(Broker::connect(server.url(), node));
  const auto big = numbers(200'000);
  auto out = good(Producer<std::uint64_t[]>::open(broker, "t"));
  auto first = good(Consumer<std::uint64_t[]>::join(broker, "t", "first"));
  auto second = good(Consumer<std::uint64_t[]>::join(broker, "t", "second"));
  const std::vector<std::uint64_t> small{1, 2, 3};
  good(out.send(small, "small"));
  good(out.send(big, "big"));
  good(out.close());
  EXPECT_LT(good(topic_status(broker, "t")).kept_bytes, 2000) << "only the handle is in Redis";
  for (auto* in : {&first, &second}) {
    const auto inlined = good(in->next(10s));
    EXPECT_TRUE(std::ranges::equal(**inlined, small));
    inlined->ack();
    const auto item = good(in->next(10s));
    EXPECT_EQ(item->key(), "big");
    EXPECT_TRUE(std::ranges::equal(**item, big));
    EXPECT_FALSE(holds_nothing(fleet, node));
    item->ack();
  }
  EXPECT_FALSE(good(first.next(10s)));
  EXPECT_FALSE(good(second.next(10s)));
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, node); }));
}

TEST(StreamRedis, AnObjectThatIsGoneIsPassedOverAndOneThatNobodyCanReadIsNot) {
  const RedisForTest server;
  const Fleet fleet = local(1, {});
  const NodeHandle node = fleet.node(0);
  const Broker broker = good(Broker::connect(server.url(), node));
  auto out = good(Producer<std::uint64_t[]>::open(broker, "t"));
  const auto big = numbers(50'000);
  good(out.send(big));
  good(out.send(numbers(60'000)));
  const Broker without = good(Broker::connect(server.url()));
  {
    auto in = good(Consumer<std::uint64_t[]>::join(without, "t", "all"));
    expect_error(in.next(10s), ErrorCode::unsupported, "at a node");
  }
  const std::string first = "return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][2][4]";
  const Handle handle = good(Handle::parse(server.ask({"EVAL", first, "1", "godwit:{t}"})));
  good(detail::ObjectDoor(node.objects()).evict(handle));
  auto in = good(Consumer<std::uint64_t[]>::join(broker, "t", "all"));
  expect_error(in.next(10s), ErrorCode::not_found, "passed over");
  EXPECT_EQ((**good(in.next(10s))).size(), 60'000);
}

TEST(StreamRedis, AServerWhoseMemoryIsFullRefusesItemsAndGivesOutThoseItHas) {
  RedisForTest server;
  const Broker broker = good(Broker::connect(server.url()));
  auto out = good(Producer<std::string>::open(broker, "t", {.linger = 0ns}));
  auto in = good(Consumer<std::string>::join(broker, "t", "all"));
  good(out.send(std::string(100'000, 'a')));
  server.ask({"CONFIG", "SET", "maxmemory", "500000"});
  expect_error(out.send(std::string(100'000, 'b')), ErrorCode::resource_exhausted, "OOM");
  good(in.next(10s))->ack();
  expect_error(in.next(10ms), ErrorCode::deadline);
  EXPECT_EQ(good(topic_status(broker, "t")).kept_bytes, 0);
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  good(out.flush());
  EXPECT_EQ((**good(in.next(10s)))[0], 'b') << "it was taken, and went with the next";
}

TEST(StreamRedis, AClusterAndAServerWithTlsAndAPasswordAreBrokersToo) {
  const ref::RedisClusterForTest cluster;
  const RedisForTest sealed({.password = "secret", .tls = true});
  for (const std::string& url : {cluster.url(), sealed.url()}) {
    const Broker broker = good(Broker::connect(url));
    EXPECT_EQ(broker.name().find("secret"), std::string::npos);
    for (const char* topic : {"a", "b", "c"}) {
      auto out = good(Out::open(broker, topic));
      for (std::uint64_t i = 0; i < 100; ++i) good(out.send(i));
      good(out.close());
      auto in = good(In::join(broker, topic, "all"));
      EXPECT_EQ(read_all(in).size(), 100);
    }
    EXPECT_EQ(good(list_topics(broker)).size(), 3);
  }
}

TEST(StreamRedis, AnEndedTopicLeavesNothingBehind) {
  const RedisForTest server;
  {
    const Broker broker = good(Broker::connect(server.url()));
    auto out = good(Out::open(broker, "t"));
    auto in = good(In::join(broker, "t", "all"));
    good(out.send(std::uint64_t{1}));
    good(out.close());
    EXPECT_EQ(read_all(in).size(), 1);
    good(remove_topic(broker, "t"));
    EXPECT_EQ(good(list_topics(broker)).size(), 0);
  }
  EXPECT_TRUE(eventually([&] { return server.ask({"EXISTS", "godwit:{t}"}) == "0"; }));
  EXPECT_EQ(server.ask({"EXISTS", "godwit:{t}:meta", "godwit:{t}:producers"}), "0");
}

TEST(StreamRedis, WhatIsNoBrokerIsRefusedAndSaysWhy) {
  const RedisForTest sealed({.password = "secret"});
  expect_error(Broker::connect("kafka://host:9092"), ErrorCode::unsupported, "redis");
  expect_error(Broker::connect("redis://host:1?ttl=5"), ErrorCode::bad_address, "ttl");
  expect_error(Broker::connect("redis://127.0.0.1:1"), ErrorCode::unreachable, "127.0.0.1:1");
  expect_error(Broker::connect("redis://" + sealed.address()), ErrorCode::unauthorised);
  const Broker broker = good(Broker::connect(sealed.url()));
  expect_error(Out::open(broker, "a{b}"), ErrorCode::invalid_argument, "{");
  auto out = good(Producer<std::string>::open(broker, "t"));
  expect_error(out.send(std::string(40'000'000, 'x')), ErrorCode::too_large, "object");
}

}  // namespace
}  // namespace godwit::node
