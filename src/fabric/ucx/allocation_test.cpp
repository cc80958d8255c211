// Small messages allocate nothing, once the transport has warmed up.
#include <gtest/gtest.h>

#include "base/allocation_count.hpp"
#include "fabric/ucx/test_peer.hpp"

namespace godwit::fabric::ucx {
namespace {

TEST(UcxAllocation, SmallMessagesAllocateNothingOnceWarm) {
  if (!counts_allocations) GTEST_SKIP() << "a sanitizer has replaced operator new";
  TestPair pair;
  std::size_t answers = 0;
  pair.server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    (void)pair.server.transport->send(link, message.header(), {&part, 1}, 0);
  };
  pair.client.handler = [&](LinkId, Message&) { ++answers; };
  const std::string body = pattern(kBatchedLimit + 1);
  constexpr std::size_t kWindow = 32;
  const auto exchange = [&](std::size_t rounds, std::size_t size) {
    const Bytes part = bytes_of(body).first(size);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kWindow; ++i) {
        (void)pair.client.transport->send(pair.client_link, {.id = i}, {&part, 1}, 0);
      }
      const std::size_t wanted = answers + kWindow;
      for (std::size_t polls = 0; answers < wanted && polls < 1'000'000; ++polls) {
        pair.server.transport->poll(64);
        pair.client.transport->poll(64);
      }
    }
  };
  // As many records as there are ever messages: those that go by themselves need the most.
  exchange(50, kBatchedLimit + 1);
  exchange(50, 64);
  const std::uint64_t before = allocation_count();
  exchange(200, 64);
  EXPECT_EQ(allocation_count() - before, 0U);
  EXPECT_EQ(answers, 300 * kWindow);
  EXPECT_GT(pair.server.transport->counters().batches, 0U);
  EXPECT_GT(before, 0U) << "the counter counts";
}

}  // namespace
}  // namespace godwit::fabric::ucx
