// Reductions over shards, against the same computed from a vector.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "node/data_ops_for_test.hpp"

namespace godwit::node {
namespace {

using Words = Region<std::uint64_t>;

// --- The model ---

template <class T>
ops::Aggregate<T> aggregate_of(const std::vector<T>& values, ops::Where<T> where = {}) {
  ops::Aggregate<T> all;
  for (const T value : values) {
    if (!where.holds(value)) continue;
    if (all.count == 0 || value < all.min) all.min = value;
    if (all.count == 0 || value > all.max) all.max = value;
    ++all.count;
    all.sum += static_cast<ops::SumOf<T>>(value);
  }
  return all;
}

template <class T>
std::vector<ops::Entry<T>> top_of(const std::vector<T>& values, std::size_t k) {
  std::vector<ops::Entry<T>> entries;
  for (std::size_t i = 0; i < values.size(); ++i) entries.push_back({i, values[i]});
  std::ranges::stable_sort(entries, std::ranges::greater{}, &ops::Entry<T>::value);
  entries.resize(std::min(k, entries.size()));
  return entries;
}

template <class T>
ops::Histogram histogram_of(const std::vector<T>& values, ops::Buckets<T> buckets) {
  ops::Histogram histogram{0, std::vector<std::uint64_t>(buckets.count), 0};
  const auto width = static_cast<long double>(buckets.high) - static_cast<long double>(buckets.low);
  for (const T value : values) {
    if (value < buckets.low) {
      ++histogram.below;
    } else if (value >= buckets.high) {
      ++histogram.above;
    } else {
      const auto above = static_cast<long double>(value) - static_cast<long double>(buckets.low);
      ++histogram.counts.at(static_cast<std::size_t>(above * buckets.count / width));
    }
  }
  return histogram;
}

// Small whole numbers: sums of them are exact in every type, and many are equal.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(static_cast<std::int64_t>(random() % 100) -
                           (std::is_signed_v<T> || std::is_floating_point_v<T> ? 50 : 0));
  }
  return values;
}

class ReduceOps : public testing::TestWithParam<LocalTransport> {
 protected:
  template <class T>
  void expect_as_the_model(const Sharding& sharding, std::uint64_t elements) {
    auto region = make_region<T>(
        fleet_, "numbers", {.elements = elements, .capacity = elements * 2, .sharding = sharding});
    const std::vector<T> values = numbers<T>(elements, elements);
    ASSERT_TRUE(region.store(0, values));
    EXPECT_EQ(value_of(ops::aggregate(region).get()), aggregate_of(values));
    const ops::Where<T> some{.at_least = 3, .at_most = 20};
    EXPECT_EQ(value_of(ops::aggregate(region, some).get()), aggregate_of(values, some));
    EXPECT_EQ(value_of(ops::sum(region, some).get()), aggregate_of(values, some).sum);
    EXPECT_EQ(value_of(ops::count(region, some).get()), aggregate_of(values, some).count);
    EXPECT_EQ(value_of(ops::min(region).get()), std::ranges::min(values));
    EXPECT_EQ(value_of(ops::max(region).get()), std::ranges::max(values));
    EXPECT_EQ(value_of(ops::max(region, {.at_least = 120}).get()), std::nullopt);
    for (const std::uint32_t k : {1U, 7U, static_cast<std::uint32_t>(elements + 5)}) {
      EXPECT_EQ(value_of(ops::top(region, k).get()), top_of(values, k));
    }
    for (const ops::Buckets<T> buckets :
         {ops::Buckets<T>{0, 32, 8}, ops::Buckets<T>{10, 26, 4}, ops::Buckets<T>{5, 6, 1}}) {
      EXPECT_EQ(value_of(ops::histogram(region, buckets).get()), histogram_of(values, buckets));
    }
    ASSERT_TRUE(region.drop());
  }

  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(ReduceOps, EveryReductionOfEveryNumberTypeEqualsTheModel) {
  expect_as_the_model<std::uint8_t>(Sharding::blocks(), 1000);
  expect_as_the_model<std::int8_t>(Sharding::cyclic(7), 1000);
  expect_as_the_model<std::uint16_t>(Sharding::hashed(), 1000);
  expect_as_the_model<std::int16_t>(Sharding::blocks(), 100);
  expect_as_the_model<std::uint32_t>(Sharding::cyclic(), 5000);
  expect_as_the_model<std::int32_t>(Sharding::hashed(), 50);
  expect_as_the_model<std::uint64_t>(Sharding::hashed(), 5000);
  expect_as_the_model<std::int64_t>(Sharding::blocks(), 5000);
  expect_as_the_model<float>(Sharding::cyclic(3), 2000);
  expect_as_the_model<double>(Sharding::hashed(), 2000);
  expect_as_the_model<double>(Sharding::blocks(), 2);  // a shard without elements
}

TEST_P(ReduceOps, SumsWrapAroundAndWhatIsNotANumberIsLeftOut) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 3});
  ASSERT_TRUE(words.store(0, std::vector<std::uint64_t>{UINT64_MAX, 5, 1}));
  EXPECT_EQ(value_of(ops::sum(words).get()), 5U);
  auto reals = make_region<double>(fleet_, "reals", {.elements = 4});
  ASSERT_TRUE(reals.store(0, std::vector<double>{NAN, 2, INFINITY, -1}));
  EXPECT_EQ(value_of(ops::count(reals).get()), 3U);
  EXPECT_EQ(value_of(ops::sum(reals, {.at_most = 100}).get()), 1.0);
  EXPECT_EQ(value_of(ops::top(reals, 9).get()).size(), 3U);
  EXPECT_EQ(value_of(ops::histogram(reals, {-2, 4, 2}).get()), (ops::Histogram{0, {1, 1}, 2}));
  const std::uint64_t large = UINT64_MAX - 1;
  EXPECT_EQ(value_of(ops::histogram(words, {0, UINT64_MAX, 2}).get()),
            (ops::Histogram{0, {2, 0}, 1}));
  EXPECT_EQ(value_of(ops::count(words, {.at_least = large}).get()), 1U);
}

TEST_P(ReduceOps, AUsersFunctionFoldsTheRegion) {
  auto region = make_region<std::uint64_t>(fleet_, "folded",
                                           {.elements = 900, .sharding = Sharding::cyclic()});
  const auto values = numbers<std::uint64_t>(900, 4);
  ASSERT_TRUE(region.store(0, values));
  const auto expected = static_cast<std::uint64_t>(
      std::ranges::count_if(values, [](std::uint64_t value) { return value > 60; }));
  const auto count_above = own<std::uint64_t(ops::TreePart, std::uint64_t)>("count_above");
  EXPECT_EQ(value_of(ops::fold(region, count_above, 60).get()), expected);
  const auto asked = own<std::uint64_t(std::string_view, std::uint64_t)>("count_above_in");
  for (const NodeHandle& node : fleet_.nodes()) {
    EXPECT_EQ(value_of(asked.on(node)("folded", 60).get()), expected);
  }
}

TEST_P(ReduceOps, AFailureInAUsersFunctionNamesRegionAndShard) {
  const auto region = make_region<std::uint64_t>(fleet_, "failing", {.elements = 30});
  const auto fail_at = own<std::uint64_t(ops::TreePart, std::uint32_t)>("fail_at");
  EXPECT_EQ(value_of(ops::fold(region, fail_at, 99).get()), 3U);
  const Failure failure = failure_of(ops::fold(region, fail_at, 2).get());
  EXPECT_EQ(failure.ending, Ending::app_error) << to_string(failure);
  expect_names(failure, "fold of elements 0 to 29 of region 'failing'");
  expect_names(failure, "shard 2: no wish to");
  const auto wrong = make_region<double>(fleet_, "doubles", {.elements = 30});
  expect_names(failure_of(ops::fold(wrong, fail_at, 2).get()), "f64");
}

TEST_P(ReduceOps, BadInputIsRefusedAndNamesTheRegion) {
  auto region = make_region<std::uint64_t>(fleet_, "small", {.elements = 10});
  expect_refused(failure_of(ops::top(region, 0).get()), kBad,
                 "top of elements 0 to 9 of region 'small'");
  expect_refused(failure_of(ops::top(region, ops::kMaxTop + 1).get()), kBad, "'small'");
  expect_refused(failure_of(ops::histogram(region, {4, 4, 2}).get()), kBad, "'small'");
  expect_refused(failure_of(ops::histogram(region, {4, 9, 0}).get()), kBad, "'small'");
  ASSERT_TRUE(region.drop());
  expect_refused(failure_of(ops::sum(region).get()), ErrorCode::not_found, "sum of elements");
}

TEST_P(ReduceOps, ReductionsBesideWritersSeeOnlyValuesThatWereThere) {
  constexpr std::uint64_t kElements = 300;
  auto region = make_region<std::uint64_t>(
      fleet_, "busy", {.elements = kElements, .sharding = Sharding::cyclic(4)});
  std::atomic<bool> over = false;
  std::vector<std::uint64_t> last(kElements);
  std::jthread reader([&] {
    while (!over) {
      const auto all = value_of(ops::aggregate(region).get());
      EXPECT_EQ(all.count, kElements);
      EXPECT_LE(all.max, 9U);
      EXPECT_LE(all.sum, 9 * kElements);
      for (const auto& entry : value_of(ops::top(region, 5).get())) EXPECT_LE(entry.value, 9U);
      const auto histogram = value_of(ops::histogram(region, {0, 10, 10}).get());
      EXPECT_EQ(histogram.above + histogram.below, 0U);
    }
  });
  in_threads(2, [&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t index =
          random() % (kElements / 2) * 2 + static_cast<std::uint64_t>(thread);
      last[index] = random() % 10;
      ASSERT_TRUE(region.store(index, last[index]));
    }
  });
  over = true;
  reader.join();
  EXPECT_EQ(value_of(ops::aggregate(region).get()), aggregate_of(last));
}

INSTANTIATE_TEST_SUITE_P(Over, ReduceOps, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         name_of);

// Seven shards are a tree of three levels.
TEST(ReduceOpsInATree, AreRightUntilANodeIsLostAndThenSaySo) {
  constexpr auto kTree = ops::Mechanism::code;
  Fleet fleet = local(7);
  auto region = make_region<std::uint64_t>(fleet, "tree", {.elements = 7000});
  const auto values = numbers<std::uint64_t>(7000, 1);
  ASSERT_TRUE(region.store(0, values));
  const auto expected = aggregate_of(values);
  const auto best = top_of(values, 20);
  const auto count_above = own<std::uint64_t(ops::TreePart, std::uint64_t)>("count_above");
  ASSERT_EQ(value_of(ops::aggregate(region, {}, kTree).get()), expected);
  ASSERT_EQ(value_of(ops::top(region, 20, kTree).get()), best);
  ASSERT_TRUE(ops::fold(region, count_above, 5).get());
  std::atomic<bool> killed = false;
  const auto expect_good_or_lost = [&](const auto& outcome, const auto& good) {
    if (outcome) {
      EXPECT_EQ(*outcome, good);
      return;
    }
    EXPECT_EQ(outcome.error().ending, Ending::node_lost) << to_string(outcome.error());
    expect_names(outcome.error(), "of elements 0 to 6999 of region 'tree'");
    killed = true;
  };
  std::vector<std::jthread> threads;
  std::atomic<std::uint64_t> rounds = 0;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!killed && std::chrono::steady_clock::now() < until) {
        expect_good_or_lost(ops::aggregate(region, {}, kTree).get(), expected);
        expect_good_or_lost(ops::top(region, 20, kTree).get(), best);
        ++rounds;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return rounds > 4; }));
  ASSERT_TRUE(fleet.kill(fleet.find("n5").value()));  // two levels below the root
  threads.clear();
  EXPECT_TRUE(killed);
  for (const Failure& failure :
       {failure_of(ops::sum(region, {}, kTree).get()), failure_of(ops::top(region, 3, kTree).get()),
        failure_of(ops::histogram(region, {0, 100, 4}, kTree).get()),
        failure_of(ops::fold(region, count_above, 5).get())}) {
    EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
    expect_names(failure, "region 'tree'");
    expect_names(failure, "shard 5");
  }
}

}  // namespace
}  // namespace godwit::node
