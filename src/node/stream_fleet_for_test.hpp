// Topics of every broker there is, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "godwit/stream.hpp"
#include "node/object_for_test.hpp"
#include "ref/channel/redis/redis_for_test.hpp"

namespace godwit::node {

enum class Kept : std::uint8_t { node_shm, node_tcp, redis };

class StreamFleet : public testing::TestWithParam<Kept> {
 protected:
  static LocalOptions options() {
    LocalOptions options;
    options.transport = GetParam() == Kept::node_tcp ? LocalTransport::tcp : LocalTransport::shm;
    return options;
  }
  static Broker broker(const Fleet& fleet, std::unique_ptr<ref::RedisForTest>& server) {
    if (GetParam() != Kept::redis) return fleet.node(0);
    server = std::make_unique<ref::RedisForTest>();
    return good(Broker::connect(server->url()));
  }
  [[nodiscard]] const Broker& home() const { return home_; }
  template <class T>
  Producer<T> producer(const ProducerOptions& options = {}) {
    return good(Producer<T>::open(home(), "topic", options));
  }
  template <class T>
  Consumer<T> consumer(std::string_view group = "all", const ConsumerOptions& options = {}) {
    return good(Consumer<T>::join(home(), "topic", group, options));
  }
  [[nodiscard]] TopicStatus status() { return good(topic_status(home(), "topic")); }
  // Acks travel after the fact.
  void expect_kept(std::uint64_t bytes) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (status().kept_bytes != bytes && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    EXPECT_EQ(status().kept_bytes, bytes);
  }

  Fleet fleet_ = local(2, options());
  std::unique_ptr<ref::RedisForTest> redis_;
  Broker home_ = broker(fleet_, redis_);
};

inline const auto kEveryBroker = testing::Values(Kept::node_shm, Kept::node_tcp, Kept::redis);
inline std::string broker_name(const testing::TestParamInfo<Kept>& info) {
  if (info.param == Kept::redis) return "Redis";
  return info.param == Kept::node_shm ? "Shm" : "Tcp";
}

}  // namespace godwit::node
