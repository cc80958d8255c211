// Ranks with the same data share their work.
#include <gtest/gtest.h>

#include <atomic>

#include "base/fail.hpp"
#include "forward/walks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

struct Task {
  std::uint64_t id = 0;
  std::uint32_t steps = 0;
  std::uint32_t filling = 0;
};

struct Totals {
  std::atomic<std::uint64_t> processed = 0;
  std::atomic<std::uint64_t> hashes = 0;
  std::atomic<std::uint64_t> taken_over = 0;
  std::atomic<std::uint64_t> by_others = 0;  // tasks of rank 0 that another rank processed
  std::atomic<std::uint64_t> by_rank_1 = 0;  // of them
  std::atomic<std::uint64_t> taken_over_by_rank_1 = 0;
};

// All tasks begin on rank 0, and stay with it if nobody takes them.
Status run_tasks(Group& group, std::uint32_t shares_work, std::size_t workers, Totals& totals) {
  GODWIT_TRY(auto exchange,
             Exchange<Task>::create(
                 group, {.chunk_bytes = 1024, .workers = workers, .shares_work = shares_work}));
  for (std::uint64_t i = 0; group.rank() == 0 && i < 20'000; ++i) {
    exchange.emit(Task{.id = i, .steps = 2}, 0);
  }
  GODWIT_TRY([[maybe_unused]] const RunReport report,
             exchange.run([&](const Task& task, auto& out) {
               std::uint64_t state = task.id;
               for (int i = 0; i < 200; ++i) state = mix64(state);
               totals.hashes += state;
               ++totals.processed;
               if (out.rank() != 0) ++totals.by_others;
               if (out.rank() == 1) ++totals.by_rank_1;
               if (task.steps > 0) out.emit(Task{task.id, task.steps - 1}, 0);
             }));
  const std::uint64_t taken_over = exchange.status().taken_over;
  totals.taken_over += taken_over;
  if (group.rank() == 1) totals.taken_over_by_rank_1 += taken_over;
  return {};
}

std::uint64_t expected_hashes() {
  std::uint64_t sum = 0;
  for (std::uint64_t id = 0; id < 20'000; ++id) {
    std::uint64_t state = id;
    for (int i = 0; i < 200; ++i) state = mix64(state);
    sum += 3 * state;
  }
  return sum;
}

TEST(SharedWork, IsDoneOnceByWhoeverHasTime) {
  for (const std::size_t workers : {1U, 2U}) {
    Totals totals;
    const Status done =
        run_ranks(3, [&](Group& group) { return run_tasks(group, 1, workers, totals); });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(totals.processed, 60'000U);
    EXPECT_EQ(totals.hashes, expected_hashes());
    EXPECT_GT(totals.taken_over, 0U);
    EXPECT_GT(totals.by_others, 0U);
    EXPECT_LE(totals.by_others, totals.taken_over);  // some more than once
  }
}

TEST(SharedWork, StaysWithThoseWhoHoldTheData) {
  Totals totals;
  // Rank 0 shares with rank 2 alone.
  const Status done = run_ranks(
      3, [&](Group& group) { return run_tasks(group, group.rank() == 1 ? 2 : 1, 1, totals); });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(totals.processed, 60'000U);
  EXPECT_EQ(totals.by_rank_1, 0U);
  EXPECT_EQ(totals.taken_over_by_rank_1, 0U);
  Totals alone;
  const Status also_done =
      run_ranks(3, [&](Group& group) { return run_tasks(group, 0, 1, alone); });
  ASSERT_TRUE(also_done) << also_done.error().message;
  EXPECT_EQ(alone.processed, 60'000U);
  EXPECT_EQ(alone.taken_over, 0U);
  EXPECT_EQ(alone.by_others, 0U);
}

// Whoever comes first asks ranks that are not there yet, or already in the next run.
TEST(SharedWork, GoesThroughManyRuns) {
  std::atomic<std::uint64_t> processed = 0;
  const Status done = run_ranks(4, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange,
               Exchange<Task>::create(group, {.chunk_bytes = 1024, .shares_work = 1}));
    for (std::uint64_t run = 0; run < 100; ++run) {
      for (std::uint64_t i = 0; i < 200; ++i) {
        exchange.emit(Task{.id = run, .steps = 1}, static_cast<Rank>(run % 4));
      }
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run([&](const Task& task, auto& out) {
                   EXPECT_EQ(task.id, run);
                   ++processed;
                   if (task.steps > 0) out.emit(Task{task.id, 0}, out.rank());
                 }));
    }
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(processed, 4U * 100U * 200U * 2U);
}

}  // namespace
}  // namespace godwit::forward
