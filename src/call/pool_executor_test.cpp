#include "call/pool_executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

namespace godwit::call {
namespace {

struct CountingJob : Executor::Job {
  explicit CountingJob(std::atomic<int>& counter) : ran(counter) {
    run = [](Executor::Job& job) {
      static_cast<CountingJob&>(job).ran.fetch_add(1);
      static_cast<CountingJob&>(job).ran.notify_all();
    };
  }
  std::atomic<int>& ran;
};

void wait_for(std::atomic<int>& counter, int value) {
  for (int seen = counter; seen < value; seen = counter) counter.wait(seen);
}

TEST(PoolExecutor, RunsEveryJob) {
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<CountingJob>> jobs;
  PoolExecutor pool({.width = 2});
  for (int i = 0; i < 500; ++i) {
    jobs.push_back(std::make_unique<CountingJob>(ran));
    ASSERT_TRUE(pool.submit(*jobs.back()));
  }
  wait_for(ran, 500);
}

struct WaitingJob : Executor::Job {
  WaitingJob(PoolExecutor& owner, std::latch& all, std::atomic<int>& counter)
      : pool(owner), everybody(all), refused(counter) {
    run = [](Executor::Job& job) {
      auto& self = static_cast<WaitingJob&>(job);
      if (!self.pool.begin_blocking()) {
        self.refused.fetch_add(1);
        self.everybody.count_down();
        return;
      }
      self.everybody.arrive_and_wait();
      self.pool.end_blocking();
    };
  }
  PoolExecutor& pool;
  std::latch& everybody;
  std::atomic<int>& refused;
};

// With one thread and jobs that wait for each other this would hang, were waiting jobs not
// replaced.
TEST(PoolExecutor, AWaitingJobMakesRoomForAnother) {
  std::atomic<int> refused{0};
  std::latch everybody(8);
  std::vector<std::unique_ptr<WaitingJob>> jobs;
  PoolExecutor pool({.width = 1, .max_blocked = 16});
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(std::make_unique<WaitingJob>(pool, everybody, refused));
    ASSERT_TRUE(pool.submit(*jobs.back()));
  }
  everybody.wait();
  EXPECT_EQ(refused, 0);
}

TEST(PoolExecutor, WhatMayNotBeDroppedIsRunBeforeTheQueueEnds) {
  struct Busy : Executor::Job {
    std::latch over{1};
  };
  std::atomic<int> ran{0};
  Busy first;
  Busy never;
  first.run = never.run = [](Executor::Job& job) { static_cast<Busy&>(job).over.wait(); };
  std::vector<std::unique_ptr<CountingJob>> jobs;
  PoolExecutor pool({.width = 1});
  ASSERT_TRUE(pool.submit(first));
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(std::make_unique<CountingJob>(ran));
    ASSERT_TRUE(pool.submit(*jobs.back()));
    if (i == 1) {
      ASSERT_TRUE(pool.submit(never));
    }
  }
  pool.run_queued(jobs.front()->run);
  EXPECT_EQ(ran, 3);
  jobs.push_back(std::make_unique<CountingJob>(ran));
  ASSERT_TRUE(pool.submit(*jobs.back())) << "behind the one that stays";
  pool.run_queued(jobs.front()->run);
  EXPECT_EQ(ran, 4);
  never.over.count_down();
  first.over.count_down();
}

TEST(PoolExecutor, RefusesToWaitAndToQueueBeyondItsLimits) {
  std::atomic<int> refused{0};
  std::latch everybody(4);
  std::vector<std::unique_ptr<WaitingJob>> jobs;
  PoolExecutor pool({.width = 1, .max_blocked = 3});
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(std::make_unique<WaitingJob>(pool, everybody, refused));
    ASSERT_TRUE(pool.submit(*jobs.back()));
  }
  everybody.wait();
  EXPECT_EQ(refused, 1);

  PoolExecutor full({.width = 1, .max_blocked = 1, .max_queued = 0});
  EXPECT_FALSE(full.submit(*jobs.front()));
}

}  // namespace
}  // namespace godwit::call
