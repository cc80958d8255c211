// Channels whose server is killed, or whose home is, in whole fleets.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "node/accomplice_for_test.hpp"
#include "node/channel_for_test.hpp"
#include "ref/access/access.hpp"

namespace godwit::node {
namespace {

class ChannelFaults : public Channels {};

TEST_P(ChannelFaults, KeysOfWhatEndedWhileItWasAwayGoWhenItIsBack) {
  Fleet fleet = start();
  const auto ref = good(fleet.node(0).put(numbers(50'000), in_store()));
  EXPECT_EQ(place_->count(), 1U);
  redis_->stop_answering();
  good(ref.evict());
  EXPECT_FALSE(good(ref.exists()));
  redis_->answer_again();
  EXPECT_TRUE(becomes_empty());
}

TEST_P(ChannelFaults, AKilledServerIsACleanErrorAndPoliciesGoOnWithMemory) {
  Fleet fleet = start("priority=5");
  const auto ref = good(fleet.node(0).put(numbers(50'000)));
  EXPECT_EQ(good(ref.status()).channel, "store");
  redis_->kill();
  const auto next = good(fleet.node(0).put(numbers(50'000)));
  EXPECT_EQ(good(next.status()).channel, "") << "it goes where it can, at the first attempt";
  EXPECT_TRUE(equal(*good(again(fleet, next).resolve()), numbers(50'000)));
  const auto lost = again(fleet, ref).resolve();
  expect_error(lost, ErrorCode::unreachable, "channel store (redis://:***@127.0.0.1:");
  EXPECT_EQ(lost.error().message.find("geheim"), std::string::npos);
  expect_error(fleet.node(0).put(numbers(50'000), in_store()), ErrorCode::unreachable, "store");
  redis_->start();  // empty
  EXPECT_TRUE(eventually([&] {
    const auto put = fleet.node(0).put(numbers(50'000));
    return put && good(put->status()).channel == "store";
  })) << "it is used again";
  expect_error(again(fleet, ref).resolve(), ErrorCode::not_found, "store");
}

// Between the bytes and the word to the home that they are there.
TEST_P(ChannelFaults, AWriterThatDiesLeavesNoKeys) {
  Accomplice victim([&](Fleet& fleet, std::string& answer) {
    auto writer = std::make_shared<Fleet>(
        good(Fleet::join(fleet.describe().front().addresses.front(), client())));
    const NodeId home{writer->node(0).id()};
    const std::vector<std::uint64_t> values = numbers(50'000);
    const Bytes bytes = std::as_bytes(std::span(values));
    const Bytes name = bytes_of(std::string_view("store"));
    wire::ObjectItem item;
    item.b = name.size();
    item.c = bytes.size();
    const auto room = good(ref::ask_one(writer->objects().asking(), home,
                                        wire::ObjectOp::reserve_elsewhere, item, {&name, 1}));
    ObjectId object;
    std::memcpy(object.bytes.data(), room.answer.tail.data(), sizeof object.bytes);
    good(writer->objects().channels()->find("store")->put(
        ref::channel_key(home, object, room.answer.fixed.version), {&bytes, 1}));
    answer = "written";
    return writer;
  });
  Fleet fleet = start();
  ASSERT_EQ(victim.act_in(fleet), "written");
  EXPECT_EQ(place_->count(), 1);
  EXPECT_EQ(status_of(fleet, fleet.node(0))["objects"]["reservations"].number(), 1);
  victim.kill();
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(eventually(
      [&] { return status_of(fleet, fleet.node(0))["objects"]["reservations"].number() == 0; }));
}

TEST_P(ChannelFaults, AWriterThatFailsLeavesNoKeys) {
  Fleet fleet = start();
  {
    // Its reservation is given back when it leaves; the bytes were there.
    Fleet writer = good(Fleet::join(fleet.describe().front().addresses.front(), client()));
    redis_->ask({"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_FALSE(writer.node(0).put(numbers(50'000), in_store()));
    redis_->ask({"CONFIG", "SET", "maxmemory", "0"});
  }
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(eventually(
      [&] { return status_of(fleet, fleet.node(0))["objects"]["reservations"].number() == 0; }));
}

// Puts and reads by several threads, while something ends and comes back.
class Traffic {
 public:
  Traffic(const Fleet& fleet, const NodeHandle& home) : fleet_(fleet), home_(home) {
    for (std::size_t t = 0; t < 3; ++t) threads_.emplace_back([this, t] { run(t); });
  }
  ~Traffic() { stop(); }
  void stop() {
    over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  // So many more have ended well.
  [[nodiscard]] bool goes_on(int more) const {
    const int before = done_;
    return eventually([&] { return done_ >= before + more; }, std::chrono::seconds(20));
  }
  [[nodiscard]] std::string surprise() {
    const std::lock_guard lock(mutex_);
    return surprise_;
  }

 private:
  void run(std::size_t thread) {
    for (std::size_t i = 0; !over_; ++i) {
      const auto values = numbers(10'000 + thread * 1000 + i % 1000);
      const auto ref = home_.put(values);
      if (!ref) {
        note(ref.error());
        continue;
      }
      const auto read = good(Ref<Numbers>::parse(fleet_, ref->handle().to_text())).resolve();
      if (!read) {
        note(read.error());
      } else if (!std::equal(values.begin(), values.end(), (**read).begin(), (**read).end())) {
        note({ErrorCode::internal, "something else was read"});
      } else {
        ++done_;
      }
      if (const Status gone = ref->evict(); !gone) note(gone.error());
    }
  }
  // What may happen when a store, or a home, is killed.
  void note(const Error& error) {
    switch (error.code) {
      case ErrorCode::unreachable:
      case ErrorCode::not_found:
      case ErrorCode::node_lost:
      case ErrorCode::link_lost:
      case ErrorCode::permission: return;  // the handle of an earlier life of the home
      default: break;
    }
    const std::lock_guard lock(mutex_);
    surprise_ = std::string(to_string(error.code)) + ": " + error.message;
  }

  const Fleet& fleet_;
  const NodeHandle home_;
  std::atomic<bool> over_{false};
  std::atomic<int> done_{0};
  std::mutex mutex_;
  std::string surprise_;
  std::vector<std::thread> threads_;
};

TEST_P(ChannelFaults, AServerThatIsKilledInTheMiddleOfUseStopsNobodyAndLeavesNothing) {
  Fleet fleet = start("priority=5");
  Traffic traffic(fleet, fleet.node(0));
  EXPECT_TRUE(traffic.goes_on(20));
  redis_->kill();
  EXPECT_TRUE(traffic.goes_on(20)) << "in memory";
  redis_->start();
  EXPECT_TRUE(traffic.goes_on(20));
  EXPECT_TRUE(eventually([&] { return place_->count() > 0; })) << "it is used again";
  traffic.stop();
  EXPECT_EQ(traffic.surprise(), "");
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(eventually([&] {
    const auto objects = status_of(fleet, fleet.node(0))["objects"];
    return objects["count"].number() == 0 && objects["used_bytes"].number() == 0 &&
           objects["reservations"].number() == 0;
  }));
}

TEST_P(ChannelFaults, WhatAHomeThatIsKilledInTheMiddleOfUseLeavesLapses) {
  *redis_options_ += "&ttl=2";
  Fleet fleet = start("priority=5");
  const NodeHandle home = good(fleet.find("n1"));
  Traffic traffic(fleet, home);
  EXPECT_TRUE(traffic.goes_on(20));
  good(fleet.kill(home));
  EXPECT_TRUE(eventually([&] { return !home.put(numbers(10)); }));
  traffic.stop();
  EXPECT_EQ(traffic.surprise(), "");
  const auto next = good(fleet.node(0).put(numbers(50'000)));
  EXPECT_EQ(good(next.status()).channel, "store") << "the others serve on";
  EXPECT_TRUE(eventually([&] { return place_->count() == 1; })) << "and renew what is theirs";
  EXPECT_TRUE(equal(*good(again(fleet, next).resolve()), numbers(50'000)));
  good(next.evict());
  EXPECT_TRUE(becomes_empty());
}

INSTANTIATE_TEST_SUITE_P(Redis, ChannelFaults,
                         testing::Values(Where{"redis", LocalTransport::shm},
                                         Where{"redis", LocalTransport::tcp}),
                         [](const auto& where) {
                           const bool shm = where.param.transport == LocalTransport::shm;
                           return std::string(shm ? "Shm" : "Tcp");
                         });

}  // namespace
}  // namespace godwit::node
