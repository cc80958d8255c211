// Scatter-add and multicast, against a model and with a node killed.
#include <algorithm>
#include <atomic>
#include <random>

#include "node/data_ops_for_test.hpp"

namespace godwit::node {
namespace {

class MovementOps : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(MovementOps, ScatterAddsOfManyThreadsEqualTheModel) {
  constexpr std::uint64_t kElements = 500;
  auto words = make_region<std::int32_t>(fleet_, "words",
                                         {.elements = kElements, .sharding = Sharding::hashed()});
  auto reals = make_region<float>(fleet_, "reals", {.elements = kElements});
  std::vector<std::atomic<std::int32_t>> model(kElements);
  in_threads(3, [&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (const std::size_t count : {0, 1, 40, 700, 3000}) {  // on the polling thread and on workers
      std::vector<std::uint64_t> indices(count);
      std::vector<std::int32_t> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        indices[i] = random() % kElements;
        values[i] = static_cast<std::int32_t>(random() % 200) - 100;
        model[indices[i]] += values[i];
      }
      const std::vector<float> same(values.begin(), values.end());
      auto adding = ops::scatter_add(reals, indices, same);
      ASSERT_TRUE(ops::scatter_add(words, indices, values).get());
      ASSERT_TRUE(adding.get());
    }
  });
  const auto found = value_of(words.load(0, kElements));
  const auto real = value_of(reals.load(0, kElements));
  for (std::uint64_t i = 0; i < kElements; ++i) {
    EXPECT_EQ(found[i], model[i]);
    EXPECT_EQ(real[i], static_cast<float>(model[i]));
  }
}

TEST_P(MovementOps, AnIndexOutOfRangeAddsNothingAnywhere) {
  const auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 30});
  const std::vector<std::uint64_t> indices{1, 30};
  const std::vector<std::uint64_t> ones{1, 1};
  expect_refused(failure_of(ops::scatter_add(words, indices, ones).get()), kBad,
                 "scatter_add of element 30 of region 'words'");
  expect_refused(failure_of(ops::scatter_add(words, indices, std::span(ones).first(1)).get()), kBad,
                 "region 'words'");
  EXPECT_EQ(value_of(ops::sum(words).get()), 0U);
}

TEST_P(MovementOps, AMulticastReachesTheSamePlaceOfEveryShard) {
  auto words = make_region<std::uint32_t>(fleet_, "words",
                                          {.elements = 30'000, .sharding = Sharding::cyclic()});
  for (const std::uint64_t count : {1U, 3U, 9'000U}) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) values[i] = i * 3 + 1;
    ASSERT_TRUE(ops::multicast(words, 5, values).get());
    const auto all = value_of(words.load(0, 30'000));
    for (std::uint64_t shard = 0; shard < 3; ++shard) {
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(all[(5 + i) * 3 + shard], values[i]);
      }
      EXPECT_EQ(all[4 * 3 + shard], 0U);
    }
    EXPECT_EQ(all[(5 + 9'000) * 3], 0U);
  }
}

TEST_P(MovementOps, AMulticastBeyondTheSmallestShardIsRefused) {
  auto words = make_region<std::uint32_t>(fleet_, "words", {.elements = 28});  // 10, 10 and 8
  const std::vector<std::uint32_t> three{1, 2, 3};
  const Failure failure = failure_of(ops::multicast(words, 6, three).get());
  expect_refused(failure, kBad, "multicast of elements 6 to 8 of region 'words'");
  expect_names(failure, "shard 2 has 8 elements");
  EXPECT_EQ(value_of(ops::sum(words).get()), 0U);
  ASSERT_TRUE(ops::multicast(words, 5, three).get());
  EXPECT_EQ(value_of(ops::sum(words).get()), 18U);
  ASSERT_TRUE(words.seal());
  expect_refused(failure_of(ops::multicast(words, 5, three).get()), ErrorCode::permission,
                 "region 'words'");
}

// Each writer's multicasts go to a place of their own and count up.
TEST_P(MovementOps, MulticastsOfManyThreadsDoNotMix) {
  const auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 30});
  in_threads(3, [&](int thread) {
    for (std::uint64_t i = 1; i <= 30; ++i) {
      const std::vector<std::uint64_t> values{i, i + 1};
      ASSERT_TRUE(ops::multicast(words, static_cast<std::uint64_t>(thread) * 2, values).get());
    }
  });
  EXPECT_EQ(value_of(words.load(0, 10)),
            (std::vector<std::uint64_t>{30, 31, 30, 31, 30, 31, 0, 0, 0, 0}));
  EXPECT_EQ(value_of(ops::sum(words).get()), 3U * 3 * 61);
}

TEST_P(MovementOps, AScatterAddToAKilledNodeSaysSoAndTheRestIsKnown) {
  const auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 30});
  const std::vector<std::uint64_t> living{0, 1, 29, 0};
  const std::vector<std::uint64_t> some{0, 15, 29, 0};
  const std::vector<std::uint64_t> ones{1, 1, 1, 1};
  std::atomic<std::uint64_t> rounds = 0;
  std::uint64_t tried = 0;
  std::uint64_t added = 0;
  std::jthread adder([&](const std::stop_token& stop) {
    for (int i = 0; i < 20 || !stop.stop_requested(); ++i) {
      ASSERT_TRUE(ops::scatter_add(words, living, ones).get());
      ++added;
      const auto done = ops::scatter_add(words, some, ones).get();
      ++tried;
      if (!done) {
        EXPECT_EQ(done.error().ending, Ending::node_lost) << to_string(done.error());
        expect_names(done.error(), "scatter_add of element 15 of region 'words' (shard 1)");
      }
      ++rounds;
    }
  });
  ASSERT_TRUE(eventually([&] { return rounds > 10; }));
  ASSERT_TRUE(fleet_.kill(fleet_.find("n1").value()));
  adder.request_stop();
  adder.join();
  EXPECT_EQ(value_of(words.load(1)), added);
  const std::uint64_t first = value_of(words.load(0));
  EXPECT_GE(first, 2 * added);
  EXPECT_LE(first, 2 * added + 2 * tried);
  EXPECT_EQ(first % 2, 0U) << "a shard gets all of its additions or none";
  EXPECT_EQ(failure_of(ops::scatter_add(words, some, ones).get()).ending, Ending::node_lost);
}

INSTANTIATE_TEST_SUITE_P(Over, MovementOps,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

TEST(MovementOpsInATree, AMulticastNamesTheShardsItDidNotReachAndReachesTheRest) {
  Fleet fleet = local(7);
  const auto words = make_region<std::uint64_t>(fleet, "words", {.elements = 70});
  ASSERT_TRUE(ops::multicast(words, 0, std::vector<std::uint64_t>{1, 2}).get());
  EXPECT_EQ(value_of(ops::sum(words).get()), 7U * 3);
  ASSERT_TRUE(fleet.kill(fleet.find("n1").value()));  // shards 5 and 6 lie below it
  const Failure failure =
      failure_of(ops::multicast(words, 0, std::vector<std::uint64_t>{4, 5}).get());
  EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
  EXPECT_TRUE(failure.may_have_started);
  expect_names(failure, "multicast of elements 0 to 1 of region 'words'");
  expect_names(failure, "shards 1, 5, 6");
  for (const std::uint64_t shard : {0, 2, 3, 4}) {
    EXPECT_EQ(value_of(words.load(shard * 10, 2)), (std::vector<std::uint64_t>{4, 5}));
  }
  for (const std::uint64_t shard : {5, 6}) {
    EXPECT_EQ(value_of(words.load(shard * 10)), 1U) << "what was not passed on was not written";
  }
}

}  // namespace
}  // namespace godwit::node
