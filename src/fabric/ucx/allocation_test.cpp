// Small messages allocate nothing, once the transport has warmed up.
#include <gtest/gtest.h>

#include <algorithm>

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
  const std::string body = pattern(64);
  const Bytes part = bytes_of(body);
  constexpr std::size_t kWindow = 32;
  const auto exchange = [&](std::size_t rounds) {
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
  exchange(50);
  EXPECT_GT(allocation_count(), 0U) << "the counter counts";
  // How many messages are on their way at once is the kernel's to say; memory for each is made when
  // there are more than ever before. The quietest of some stretches is the path itself.
  std::uint64_t least = UINT64_MAX;
  std::size_t rounds = 50;
  for (int stretch = 0; stretch < 20 && least > 0; ++stretch, rounds += 50) {
    const std::uint64_t before = allocation_count();
    exchange(50);
    least = std::min(least, allocation_count() - before);
  }
  EXPECT_EQ(least, 0U);
  EXPECT_EQ(answers, rounds * kWindow);
}

}  // namespace
}  // namespace godwit::fabric::ucx
