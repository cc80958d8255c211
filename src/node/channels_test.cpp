// Objects whose bytes are in channels, in whole fleets: a folder, and a real Redis server.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/channel_for_test.hpp"

namespace godwit::node {
namespace {

TEST_P(Channels, AnObjectIsPutIntoItReadFromItAndRemovedWhenItEnds) {
  Fleet fleet = start();
  for (const std::size_t count : {0, 1, 1000, 500'000}) {
    const auto ref = good(fleet.node(0).put(numbers(count), in_store()));
    EXPECT_EQ(place_->count(), 1U);
    const auto status = good(ref.status());
    EXPECT_EQ(status.channel, "store");
    EXPECT_EQ(status.elsewhere, count != 0);
    const auto pinned = good(again(fleet, ref).resolve());
    EXPECT_TRUE(equal(*pinned, numbers(count)));
    if (count != 0) {
      EXPECT_EQ(pinned.how(), ResolvedBy::channel);
    }
    good(ref.evict());
    EXPECT_TRUE(becomes_empty());
    EXPECT_TRUE(equal(*pinned, numbers(count))) << "whoever has it keeps it";
    expect_error(again(fleet, ref).resolve(), ErrorCode::not_found);
  }
}

TEST_P(Channels, AProcessWithoutTheChannelReadsItByWayOfTheHome) {
  Fleet fleet = start();
  const auto ref = good(fleet.node(1).put(numbers(300'000), in_store()));
  Fleet plain = good(Fleet::join(fleet.describe().front().addresses.front()));
  {
    const auto pinned = good(again(plain, ref).resolve());
    EXPECT_TRUE(equal(*pinned, numbers(300'000)));
    EXPECT_NE(pinned.how(), ResolvedBy::channel);
    EXPECT_FALSE(good(ref.status()).elsewhere) << "its home has a copy";
    EXPECT_TRUE(equal(*good(again(fleet, ref).resolve()), numbers(300'000)));
  }
  expect_error(plain.node(0).put(numbers(10), in_store()), ErrorCode::not_found, "store");
  const auto update = good(again(plain, ref).update(numbers(100'000)));
  EXPECT_TRUE(equal(*good(update.resolve()), numbers(100'000)));
  good(ref.evict());
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Channels, PartsOfAnObjectAreReadFromIt) {
  Fleet fleet = start();
  const auto ref = good(fleet.node(0).put(numbers(100'000), in_store()));
  const auto all = numbers(520);
  EXPECT_EQ(good(ref.slice(500, 20)), std::vector(all.begin() + 500, all.end()));
  EXPECT_TRUE(good(ref.status()).elsewhere) << "without bringing it to its home";
}

TEST_P(Channels, ManyAreReadTogether) {
  Fleet fleet = start();
  std::vector<Ref<Numbers>> refs;
  for (std::size_t i = 0; i < 100; ++i) {
    refs.push_back(again(fleet, good(fleet.node(i % 2).put(numbers(i), in_store()))));
  }
  good(refs[50].evict());
  const auto all = resolve_batch<Numbers>(refs);
  ASSERT_EQ(all.size(), refs.size());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (i == 50) {
      expect_error(all[i], ErrorCode::not_found);
    } else {
      EXPECT_TRUE(equal(*good(all[i]), numbers(i))) << i;
    }
  }
}

TEST_P(Channels, ItsLifetimesAreThoseOfAnyObject) {
  Fleet fleet = start();
  const auto readers = good(fleet.node(0).put(numbers(50'000), in_store(Lifetime::readers(2))));
  EXPECT_TRUE(equal(*good(again(fleet, readers).resolve()), numbers(50'000)));
  EXPECT_TRUE(equal(*good(again(fleet, readers).resolve()), numbers(50'000)));
  EXPECT_TRUE(eventually([&] { return !good(readers.exists()); }));
  const auto lease = Lifetime::lease(std::chrono::milliseconds(200));
  const auto leased = good(fleet.node(0).put(numbers(10), in_store(lease)));
  EXPECT_TRUE(becomes_empty()) << "after the second reader, and 200 ms";
  EXPECT_FALSE(good(leased.exists()));
  {
    const auto owned = good(Owned<Numbers>::put(fleet.node(1), numbers(10), in_store()));
    EXPECT_EQ(place_->count(), 1U);
  }
  EXPECT_TRUE(becomes_empty());
  {
    Fleet other = good(Fleet::join(fleet.describe().front().addresses.front(), client()));
    const auto held = good(other.node(0).put(numbers(10), in_store(Lifetime::process())));
    EXPECT_TRUE(good(again(fleet, held).exists()));
    EXPECT_EQ(place_->count(), 1U);
  }
  EXPECT_TRUE(becomes_empty()) << "with the process that put it";
}

TEST_P(Channels, UpdatesAndPromisesGoThereToo) {
  Fleet fleet = start();
  const auto first = good(fleet.node(0).put(numbers(50'000), in_store()));
  const auto old = good(again(fleet, first).resolve());
  const auto second = good(first.update(numbers(60'000)));
  EXPECT_EQ(good(second.status()).channel, "store");
  EXPECT_TRUE(equal(*good(again(fleet, second).resolve()), numbers(60'000)));
  EXPECT_TRUE(equal(*old, numbers(50'000)));
  expect_error(first.update(numbers(70'000)), ErrorCode::stale);
  EXPECT_TRUE(eventually([&] { return place_->count() == 1; }))
      << "the old version, and the refused";
  good(second.evict());

  Promise<Numbers> promise = good(Promise<Numbers>::make(fleet.node(0), {.object = in_store()}));
  const auto ref = promise.ref();
  good(promise.set(numbers(40'000)));
  EXPECT_TRUE(equal(*good(again(fleet, ref).wait(std::chrono::seconds(10))), numbers(40'000)));
  EXPECT_EQ(good(ref.status()).channel, "store");
  good(ref.evict());
  EXPECT_TRUE(becomes_empty());
}

TEST_P(Channels, PoliciesDecideBySizeAndTags) {
  Fleet fleet = start("min_size=100k tags=bulk priority=5");
  const auto channel_of = [&](std::size_t count, std::vector<std::string> tags) {
    PutOptions options;
    options.tags = std::move(tags);
    const auto ref = good(fleet.node(0).put(numbers(count), options));
    EXPECT_TRUE(equal(*good(again(fleet, ref).resolve()), numbers(count)));
    return good(ref.status()).channel;
  };
  EXPECT_EQ(channel_of(50'000, {"bulk"}), "store");
  EXPECT_EQ(channel_of(50'000, {}), "");
  EXPECT_EQ(channel_of(10, {"bulk"}), "");
  PutOptions options;
  options.channel = "memory";
  options.tags = {"bulk"};
  EXPECT_EQ(good(good(fleet.node(0).put(numbers(50'000), options)).status()).channel, "");
  options.channel = "elsewhere";
  expect_error(fleet.node(0).put(numbers(1), options), ErrorCode::not_found, "memory, store");
}

TEST_P(Channels, HostsThatDoNotMatchGoByWayOfTheHome) {
  Fleet fleet = start();
  const auto ref = good(fleet.node(0).put(numbers(50'000), in_store()));
  Fleet other =
      good(Fleet::join(fleet.describe().front().addresses.front(), client("hosts=other-host-*")));
  const auto pinned = good(again(other, ref).resolve());
  EXPECT_NE(pinned.how(), ResolvedBy::channel);
  EXPECT_TRUE(equal(*pinned, numbers(50'000)));
}

TEST_P(Channels, ExplainSaysWhichWayAndWhy) {
  Fleet fleet = start();
  const auto ref = good(fleet.node(0).put(numbers(50'000), in_store()));
  auto decision = good(ref.explain());
  EXPECT_EQ(decision.channel, "store");
  EXPECT_EQ(decision.chosen, "store");
  ASSERT_EQ(decision.paths.size(), 2U);
  EXPECT_EQ(decision.paths[0].measured, 0U);
  EXPECT_TRUE(equal(*good(again(fleet, ref).resolve()), numbers(50'000)));
  decision = good(ref.explain());
  EXPECT_EQ(decision.paths[0].measured, 1U);
  EXPECT_EQ(decision.paths[0].last_bytes, 400'000U);
  EXPECT_NE(to_text(decision).find("resolved by store"), std::string::npos);
  const auto plain = good(fleet.node(0).put(numbers(50'000)));
  EXPECT_EQ(good(plain.explain()).channel, "memory");
}

TEST_P(Channels, AHomeWithoutTheChannelRefusesItsNameAndPoliciesGoOn) {
  LocalOptions options;
  options.node_arguments = {"--jit=off"};
  options.client = client("priority=5");
  Fleet fleet = local(1, std::move(options));
  expect_error(fleet.node(0).put(numbers(10), in_store()), ErrorCode::unsupported, "channel");
  const auto ref = good(fleet.node(0).put(numbers(50'000)));
  EXPECT_EQ(good(ref.status()).channel, "");
  EXPECT_EQ(place_->count(), 0U);
}

TEST_P(Channels, WhatTheHomeIsToHoldGoesIntoMemoryAndOutAgain) {
  Fleet fleet = start("", {"--object-budget-mb=16"});
  std::vector<Ref<Numbers>> refs;
  for (std::size_t i = 0; i < 8; ++i) {  // 32 MB, in a home of 16
    refs.push_back(good(fleet.node(0).put(numbers(500'000 + i), in_store())));
  }
  Fleet plain = good(Fleet::join(fleet.describe().front().addresses.front()));
  for (std::size_t round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < refs.size(); ++i) {
      EXPECT_TRUE(equal(*good(again(plain, refs[i]).resolve()), numbers(500'000 + i)));
    }
  }
}

TEST_P(Channels, AKilledHomeLeavesItsBytesToReadersUntilTheyLapse) {
  Fleet fleet = start();
  const NodeHandle home = good(fleet.find("n1"));
  const auto ref = good(home.put(numbers(50'000), in_store()));
  const auto in_memory = good(home.put(numbers(50'000)));
  good(fleet.kill(home));
  const auto pinned = good(again(fleet, ref).resolve());
  EXPECT_TRUE(equal(*pinned, numbers(50'000)));
  EXPECT_EQ(pinned.how(), ResolvedBy::channel);
  EXPECT_FALSE(again(fleet, in_memory).resolve());
  EXPECT_FALSE(ref.update(numbers(50'000))) << "a home decides, and there is none";
}

TEST_P(Channels, AFleetThatEndsInOrderLeavesNothing) {
  {
    Fleet fleet = start();
    good(fleet.node(0).put(numbers(50'000), in_store()));
    good(fleet.node(1).put(numbers(10), in_store()));
    EXPECT_EQ(place_->count(), 2U);
  }
  EXPECT_TRUE(becomes_empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, Channels,
                         testing::Values(Where{"file", LocalTransport::shm},
                                         Where{"redis", LocalTransport::shm},
                                         Where{"redis", LocalTransport::tcp}),
                         [](const auto& where) {
                           return std::string(where.param.channel) +
                                  (where.param.transport == LocalTransport::shm ? "Shm" : "Tcp");
                         });

}  // namespace
}  // namespace godwit::node
