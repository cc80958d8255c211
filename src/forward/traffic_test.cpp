// Whatever walks where, nothing is lost, doubled or sent astray.
#include <gtest/gtest.h>

#include <mutex>
#include <tuple>

#include "base/fail.hpp"
#include "forward/walks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

struct Outcome {
  explicit Outcome(Rank ranks) : traffic(ranks) {}
  Traffic traffic;
  std::uint64_t processed = 0;
  std::uint64_t spilled = 0;
  std::uint64_t emitted = 0;
};

// Runs a walk of `seeds` items per rank on threads, and notes what arrived where.
template <std::size_t size>
Result<Outcome> walk_on_threads(const Walk& walk, std::uint64_t seeds,
                                const ExchangeOptions& options, Pace pace) {
  using Item = Walker<size>;
  Outcome outcome(walk.ranks);
  std::mutex mutex;
  const Status done = run_ranks(walk.ranks, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Item>::create(group, options));
    const Rank me = group.rank();
    std::vector<Traffic> seen(options.workers, Traffic(walk.ranks));
    std::mutex seen_mutex;
    for (std::uint64_t i = 0; i < walk.seeds_of(me, seeds); ++i) {
      const std::uint64_t id = Walk::seed_id(me, i);
      exchange.emit(Item{.id = id, .step = 0, .from = me}, walk.destination(id, 0, me));
    }
    GODWIT_TRY(const RunReport report,
               exchange.run(
                   [&](const Item& item, auto& out) {
                     {
                       const std::lock_guard lock(seen_mutex);
                       seen.front().note(item.from, me, item.id, item.step);
                     }
                     for (std::uint32_t i = 0; i < walk.followers(item.id, item.step); ++i) {
                       const std::uint64_t id = Walk::follower_id(item.id, item.step, i);
                       out.emit(Item{.id = id, .step = item.step + 1, .from = me},
                                walk.destination(id, item.step + 1, me));
                     }
                   },
                   pace));
    const ExchangeStatus status = exchange.status();
    const std::lock_guard lock(mutex);
    outcome.traffic.add(seen.front());
    outcome.processed += report.processed;
    outcome.spilled += status.spilled;
    outcome.emitted += status.emitted;
    return {};
  });
  GODWIT_CHECK(done);
  return outcome;
}

using Case = std::tuple<Spread, Rank, Pace>;

class Walks : public testing::TestWithParam<Case> {};

TEST_P(Walks, BringEveryItemToItsRankOnce) {
  const auto [spread, ranks, pace] = GetParam();
  const Walk walk{.spread = spread, .ranks = ranks};
  const Traffic expected = expected_traffic(walk, 3000);
  const auto outcome = walk_on_threads<64>(walk, 3000, {.chunk_bytes = 4096}, pace);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->traffic, expected);
  EXPECT_EQ(outcome->processed, expected.total());
  EXPECT_EQ(outcome->emitted, expected.total());
  EXPECT_EQ(outcome->spilled, 0U);
}

TEST_P(Walks, SurviveQueuesOfOneChunk) {
  const auto [spread, ranks, pace] = GetParam();
  const Walk walk{.spread = spread, .ranks = ranks, .max_steps = 3};
  const auto outcome =
      walk_on_threads<48>(walk, 500, {.chunk_bytes = 1024, .queue_bytes = 1024}, pace);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->traffic, expected_traffic(walk, 500));
  EXPECT_GT(outcome->spilled, 0U);
}

TEST_P(Walks, GoThroughSeveralWorkersOfARank) {
  const auto [spread, ranks, pace] = GetParam();
  const Walk walk{.spread = spread, .ranks = ranks};
  const auto outcome = walk_on_threads<20>(walk, 1000, {.chunk_bytes = 1024, .workers = 3}, pace);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->traffic, expected_traffic(walk, 1000));
}

INSTANTIATE_TEST_SUITE_P(
    Threads, Walks,
    testing::Combine(testing::Values(Spread::uniform, Spread::all_to_one, Spread::zipf,
                                     Spread::ring, Spread::self_only, Spread::one_rank_starts),
                     testing::Values(1, 2, 3, 7), testing::Values(Pace::rounds, Pace::free)),
    [](const testing::TestParamInfo<Case>& one) {
      return to_string(std::get<0>(one.param)) + std::to_string(std::get<1>(one.param)) +
             (std::get<2>(one.param) == Pace::free ? "Free" : "Rounds");
    });

TEST(WalksOfNobody, EndAtOnce) {
  for (const Rank ranks : {1, 2, 7}) {
    for (const Pace pace : {Pace::rounds, Pace::free}) {
      const Walk walk{.spread = Spread::nobody_starts, .ranks = ranks};
      const auto outcome = walk_on_threads<64>(walk, 3000, {}, pace);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->processed + outcome->emitted, 0U);
    }
  }
}

TEST(WalkSizes, AreAllTheSameToAnExchange) {
  const Walk walk{.ranks = 3};
  const Traffic expected = expected_traffic(walk, 500);
  const auto check = [&]<std::size_t size>(std::integral_constant<std::size_t, size>) {
    for (const Pace pace : {Pace::rounds, Pace::free}) {
      const auto outcome = walk_on_threads<size>(walk, 500, {.chunk_bytes = 2048}, pace);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->traffic, expected) << size;
    }
  };
  check(std::integral_constant<std::size_t, 20>());
  check(std::integral_constant<std::size_t, 24>());
  check(std::integral_constant<std::size_t, 32>());
  check(std::integral_constant<std::size_t, 36>());
  check(std::integral_constant<std::size_t, 40>());
  check(std::integral_constant<std::size_t, 128>());
  check(std::integral_constant<std::size_t, 256>());
}

}  // namespace
}  // namespace godwit::forward
