// Producers, consumers and homes of streams that die in the middle.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>

#include "godwit/stream.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;

class StreamFaults : public testing::TestWithParam<LocalTransport> {
 protected:
  static Fleet start() {
    LocalOptions options;
    options.transport = GetParam();
    return local(2, std::move(options));
  }
};

TEST_P(StreamFaults, WhatAKilledConsumerHadGoesToAnother) {
  Accomplice victim([](Fleet& fleet, std::string& answer) {
    auto in = good(Consumer<std::uint64_t>::join(fleet.node(0), "work", "all", {.items = 4}));
    auto item = good(in.next(10s));
    answer = std::to_string(**item);
    return keep(std::pair(std::move(in), std::move(item)));
  });
  Fleet fleet = start();
  auto out = good(Producer<std::uint64_t>::open(fleet.node(0), "work"));
  for (std::uint64_t i = 0; i < 10; ++i) good(out.send(i));
  good(out.close());
  ASSERT_EQ(victim.act_in(fleet), "0");
  victim.kill();
  auto in = good(Consumer<std::uint64_t>::join(fleet.node(0), "work", "all"));
  std::set<std::uint64_t> seen;
  while (auto item = good(in.next(30s))) {
    // It may have fetched four more ahead.
    EXPECT_GE(item->deliveries(), **item < 4 ? 2 : 1);
    EXPECT_LE(item->deliveries(), **item < 8 ? 2 : 1);
    seen.insert(**item);
    item->ack();
  }
  EXPECT_EQ(seen.size(), 10);
  in = good(Consumer<std::uint64_t>::join(fleet.node(0), "other", "all"));
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }));
}

TEST_P(StreamFaults, AKilledSoleProducerIsAnErrorAfterItsLastItem) {
  Accomplice victim([](Fleet& fleet, std::string& answer) {
    auto out = good(Producer<std::uint64_t>::open(fleet.node(0), "work", {.sole = true}));
    for (std::uint64_t i = 0; i < 3; ++i) good(out.send(40 + i));
    good(out.flush());
    answer = "sent";
    return keep(std::move(out));
  });
  Fleet fleet = start();
  ASSERT_EQ(victim.act_in(fleet), "sent");
  expect_error(Producer<std::uint64_t>::open(fleet.node(0), "work"), ErrorCode::already_exists);
  auto in = good(Consumer<std::uint64_t>::join(fleet.node(0), "work", "all"));
  good(in.next(10s))->ack();
  victim.kill();
  {
    auto last = good(in.next(10s));
    last = good(in.next(10s));
    EXPECT_EQ(**last, 42);
    expect_error(in.next(30s), ErrorCode::node_lost, "producer");
    EXPECT_GT(status_of(fleet, fleet.node(0))["objects"]["used_bytes"].count(), 0)
        << "of two that nobody has acked";
  }
  good(remove_topic(fleet.node(0), "work"));
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }));
}

TEST_P(StreamFaults, AKilledHomeIsAnErrorForBothSidesAndNoWaitIsEndless) {
  Fleet fleet = start();
  auto out = good(Producer<std::uint64_t>::open(fleet.node(0), "work", {.linger = 0ns}));
  auto in = good(Consumer<std::uint64_t>::join(fleet.node(0), "work", "all"));
  good(out.send(std::uint64_t{1}));
  auto item = good(in.next(10s));
  std::thread waits([&] { expect_error(in.next(30s), ErrorCode::node_lost); });
  EXPECT_TRUE(eventually([&] {
    return status_of(fleet, fleet.node(0))["calls"]["waiting"].count() > 0;
  })) << "it waits at the home";
  good(fleet.kill(fleet.node(0)));
  waits.join();
  EXPECT_EQ(**item, 1) << "what was read stays";
  for (const Status& sent : {out.send(std::uint64_t{2}), out.flush()}) {
    ASSERT_FALSE(sent);
    EXPECT_TRUE(sent.error().code == ErrorCode::node_lost ||
                sent.error().code == ErrorCode::unreachable)
        << to_string(sent.error().code) << ": " << sent.error().message;
  }
}

TEST_P(StreamFaults, AProducerThatIsDestroyedSendsWhatItHas) {
  Fleet fleet = start();
  {
    auto out = good(Producer<std::uint64_t>::open(fleet.node(0), "work", {.linger = 1h}));
    good(out.send(std::uint64_t{5}));
  }
  auto in = good(Consumer<std::uint64_t>::join(fleet.node(0), "work", "all"));
  EXPECT_EQ(**good(in.next(10s)), 5);
}

INSTANTIATE_TEST_SUITE_P(Transports, StreamFaults,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
