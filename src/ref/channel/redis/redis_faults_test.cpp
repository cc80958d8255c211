// What a Redis channel does when things go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/bytes.hpp"
#include "godwit/channel.hpp"
#include "ref/channel/redis/redis_for_test.hpp"
#include "ref/channel/redis/servers.hpp"

namespace godwit::ref {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

Status put(Channel& channel, std::string_view key, const std::string& text) {
  const Bytes part = bytes_of(text);
  return channel.put(key, {&part, 1});
}

Result<std::string> text_at(Channel& channel, std::string_view key) {
  const auto size = channel.size(key);
  if (!size) return tl::unexpected(size.error());
  std::string text(*size, '\0');
  if (const Status got = channel.get(key, 0, std::as_writable_bytes(std::span(text))); !got) {
    return tl::unexpected(got.error());
  }
  return text;
}

template <class Condition>
bool becomes(const Condition& condition) {
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(RedisFaults, AKilledServerIsUnreachableAndServesAgainWhenItIsBack) {
  RedisForTest server;
  const auto channel = open_channel(server.url()).value();
  ASSERT_TRUE(put(*channel, "k", "x"));
  server.kill();
  const auto begin = Clock::now();
  const Status lost = put(*channel, "k", "y");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::unreachable);
  EXPECT_THAT(lost.error().message, HasSubstr(server.address()));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(channel->ping().error().code, ErrorCode::unreachable);
  server.start();
  EXPECT_TRUE(put(*channel, "k", "z"));
  EXPECT_EQ(text_at(*channel, "k").value(), "z");
}

TEST(RedisFaults, AServerThatIsKilledInTheMiddleOfPutsEndsThemAll) {
  RedisForTest server;
  const auto channel = open_channel(server.url()).value();
  const std::string value(3'000'000, 'x');
  std::atomic<int> done{0};
  std::atomic<bool> unexpected{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (;;) {
        const Status put_done = put(*channel, "k" + std::to_string(t), value);
        if (put_done) {
          ++done;
          continue;
        }
        unexpected = unexpected || put_done.error().code != ErrorCode::unreachable;
        return;
      }
    });
  }
  EXPECT_TRUE(becomes([&] { return done > 5; }));
  server.kill();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(unexpected);
}

TEST(RedisFaults, AServerThatSaysNothingIsGivenUpOnAfterTheTimeOut) {
  RedisForTest server;
  const auto channel = open_channel(server.url("timeout_ms=200")).value();
  ASSERT_TRUE(put(*channel, "k", "x"));
  server.stop_answering();
  const auto begin = Clock::now();
  const Status lost = put(*channel, "k", "y");
  const auto took = Clock::now() - begin;
  server.answer_again();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::unreachable);
  EXPECT_THAT(lost.error().message, HasSubstr("200 ms"));
  EXPECT_LT(took, std::chrono::seconds(3));
  EXPECT_TRUE(becomes([&] { return text_at(*channel, "k").has_value(); }));
}

TEST(RedisFaults, AWrongOrMissingPasswordIsUnauthorisedAndNotPrinted) {
  const RedisForTest server({.password = "geheim"});
  const std::string address = server.address();
  for (const std::string& login :
       {std::string(), std::string(":falsch@"), std::string("nobody:geheim@")}) {
    const auto channel = open_channel("redis://" + login + address).value();
    const Status refused = put(*channel, "k", "x");
    ASSERT_FALSE(refused) << login;
    EXPECT_EQ(refused.error().code, ErrorCode::unauthorised) << refused.error().message;
    EXPECT_THAT(refused.error().message, Not(HasSubstr("falsch")));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("geheim")));
  }
  const auto channel = open_channel("redis://default:geheim@" + address).value();
  EXPECT_TRUE(put(*channel, "k", "x"));
}

TEST(RedisFaults, AServerWhoseCertificateIsNotTrustedIsRefused) {
  const RedisForTest server({.tls = true});
  const RedisForTest other({.tls = true});
  const std::string address = server.address();
  for (const std::string& query : {"ca=" + other.ca_file(), std::string("timeout_ms=1000"),
                                   "ca=" + server.ca_file() + "&name=another.example"}) {
    const auto channel = open_channel("rediss://" + address + "?" + query).value();
    const Status refused = put(*channel, "k", "x");
    ASSERT_FALSE(refused) << query;
    EXPECT_EQ(refused.error().code, ErrorCode::handshake_failed) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
  }
  const std::string good = "ca=" + server.ca_file() + "&name=cache.example";
  const auto channel = open_channel("rediss://" + address + "?" + good).value();
  const Status done = put(*channel, "k", "x");
  EXPECT_TRUE(done) << done.error().message;
  const auto plain = open_channel("redis://" + address + "?timeout_ms=500").value();
  EXPECT_FALSE(put(*plain, "k", "x"));
  EXPECT_EQ(open_channel("rediss://h?ca=/nowhere").error().code, ErrorCode::bad_format);
}

TEST(RedisFaults, NothingIsLeftOfValuesInPartsNorOfThoseHalfWritten) {
  const RedisForTest server;
  const auto channel = open_channel(server.url("part_bytes=1000")).value();
  ASSERT_TRUE(put(*channel, "k", std::string(10'500, 'x')));
  EXPECT_EQ(server.keys(), 12U);
  ASSERT_TRUE(put(*channel, "k", std::string(2'500, 'y')));
  EXPECT_EQ(server.keys(), 4U);
  ASSERT_TRUE(put(*channel, "k", "small"));
  EXPECT_EQ(server.keys(), 1U);
  ASSERT_TRUE(channel->remove("k"));
  EXPECT_EQ(server.keys(), 0U);
  // As a writer leaves it that died after two of three parts.
  ASSERT_TRUE(put(*channel, "k", std::string(2'500, 'y')));
  const std::string head = server.ask({"GETRANGE", "k", "0", "31"});
  std::string unfinished = head;
  unfinished[4] = 2;
  EXPECT_EQ(server.ask({"SET", "k", unfinished}), "OK");
  EXPECT_EQ(channel->size("k").error().code, ErrorCode::not_found);
  EXPECT_TRUE(channel->remove("k"));
  EXPECT_EQ(server.keys(), 0U);
}

TEST(RedisFaults, WhatNobodyRenewsGoesAfterItsTimeToLive) {
  const RedisForTest server;
  const auto channel = open_channel(server.url("ttl=100&part_bytes=1000")).value();
  EXPECT_EQ(channel->time_to_live_s(), 100U);
  ASSERT_TRUE(put(*channel, "k", std::string(1'500, 'x')));
  ASSERT_TRUE(put(*channel, "small", "x"));
  server.ask({"PERSIST", "small"});
  EXPECT_EQ(server.ask({"TTL", "small"}), "-1");
  const std::vector<std::string> keys{"small", "k", "gone"};
  EXPECT_TRUE(channel->renew(keys));
  EXPECT_GT(std::stoi(server.ask({"TTL", "small"})), 90);
  EXPECT_GT(std::stoi(server.ask({"TTL", "k"})), 90);
  const auto never = open_channel(server.url("ttl=0")).value();
  ASSERT_TRUE(put(*never, "stays", "x"));
  EXPECT_EQ(server.ask({"TTL", "stays"}), "-1");
}

TEST(RedisFaults, SomebodyElsesKeyIsLeftAlone) {
  const RedisForTest server;
  EXPECT_EQ(server.ask({"SET", "k", std::string(100, 'z')}), "OK");
  const auto channel = open_channel(server.url()).value();
  EXPECT_EQ(channel->size("k").error().code, ErrorCode::bad_format);
  EXPECT_EQ(channel->remove("k").error().code, ErrorCode::bad_format);
  EXPECT_EQ(server.keys(), 1U);
}

TEST(RedisFaults, AFullServerIsResourceExhausted) {
  const RedisForTest server;
  EXPECT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  const auto channel = open_channel(server.url()).value();
  EXPECT_EQ(put(*channel, "k", "x").error().code, ErrorCode::resource_exhausted);
}

TEST(RedisSlots, AreThoseOfTheSpecification) {
  EXPECT_EQ(redis_slot_of("123456789"), 12'739);
  EXPECT_EQ(redis_slot_of("foo"), 12'182);
  EXPECT_EQ(redis_slot_of("{foo}:0123:7"), 12'182);
  EXPECT_NE(redis_slot_of("{}foo"), 12'182);
}

TEST(RedisCluster, AKeyThatMovedIsFound) {
  RedisClusterForTest cluster;
  const auto channel = open_channel(cluster.url()).value();
  ASSERT_TRUE(put(*channel, "warm", "up"));  // learns who has what
  const std::size_t slot = redis_slot_of("foo");
  const std::size_t before = slot * 3 / 16'384;
  const std::size_t after = (before + 1) % 3;
  cluster.give_slots_to(slot, slot, after);
  const Status done = put(*channel, "foo", "there");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(cluster.server(after).ask({"EXISTS", "foo"}), "1");
  EXPECT_EQ(text_at(*channel, "foo").value(), "there");
}

TEST(RedisCluster, AKeyThatIsMovingIsFoundWhereItIs) {
  RedisClusterForTest cluster;
  const auto channel = open_channel(cluster.url()).value();
  ASSERT_TRUE(put(*channel, "warm", "up"));
  const std::size_t slot = redis_slot_of("foo");
  const std::size_t from = slot * 3 / 16'384;
  const std::size_t to = (from + 1) % 3;
  const std::string number = std::to_string(slot);
  const std::string source = cluster.server(from).ask({"CLUSTER", "MYID"});
  const std::string target = cluster.server(to).ask({"CLUSTER", "MYID"});
  EXPECT_EQ(cluster.server(to).ask({"CLUSTER", "SETSLOT", number, "IMPORTING", source}), "OK");
  EXPECT_EQ(cluster.server(from).ask({"CLUSTER", "SETSLOT", number, "MIGRATING", target}), "OK");
  const Status done = put(*channel, "foo", "moving");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text_at(*channel, "foo").value(), "moving");
}

TEST(RedisCluster, TheOthersServeOnWhenOneIsKilled) {
  RedisClusterForTest cluster;
  const auto channel = open_channel(cluster.url() + "?timeout_ms=500").value();
  std::array<std::string, 3> keys;
  for (int i = 0; keys[0].empty() || keys[1].empty() || keys[2].empty(); ++i) {
    const std::string key = "k" + std::to_string(i);
    keys[redis_slot_of(key) * std::size_t{3} / 16'384] = key;
  }
  for (const std::string& key : keys) ASSERT_TRUE(put(*channel, key, "x"));
  cluster.server(2).kill();
  EXPECT_EQ(text_at(*channel, keys[2]).error().code, ErrorCode::unreachable);
  EXPECT_EQ(text_at(*channel, keys[0]).value(), "x");
  EXPECT_EQ(text_at(*channel, keys[1]).value(), "x");
}

}  // namespace
}  // namespace godwit::ref
