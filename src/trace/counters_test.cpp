#include "trace/counters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace godwit::trace {
namespace {

TEST(CounterSet, TheSameNameIsTheSameCounter) {
  CounterSet set;
  Counter& calls = set.counter("calls", "Calls started");
  calls.add();
  set.counter("calls", "ignored the second time").add(2);
  EXPECT_EQ(calls.value(), 3U);
  const std::vector<Sample> samples = set.snapshot();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].help, "Calls started");
}

TEST(CounterSet, SnapshotIsSortedAndHoldsEveryKind) {
  CounterSet set;
  set.histogram("wait_ns", "Waiting").record(100);
  set.gauge("queued", "Queue length").set(-2);
  set.gauge("queued", "").add(5);
  set.counter("calls", "Calls").add(7);
  const std::vector<Sample> samples = set.snapshot();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].name, "calls");
  EXPECT_EQ(std::get<std::uint64_t>(samples[0].value), 7U);
  EXPECT_EQ(std::get<std::int64_t>(samples[1].value), 3);
  EXPECT_EQ(std::get<HistogramSnapshot>(samples[2].value).count, 1U);
}

TEST(CounterSet, CountsNamesBeyondTheLimitInsteadOfGrowing) {
  CounterSet set;
  for (std::size_t i = 0; i < CounterSet::kMaxNames; ++i) {
    set.counter("c" + std::to_string(i), "").add();
  }
  set.counter("one_more", "").add();
  set.gauge("another", "").set(1);
  const std::vector<Sample> samples = set.snapshot();
  ASSERT_EQ(samples.size(), CounterSet::kMaxNames + 1);
  EXPECT_EQ(samples.back().name, "counter_names_dropped");
  EXPECT_EQ(std::get<std::uint64_t>(samples.back().value), 2U);
}

TEST(CounterSet, ANameTakenByAnotherKindIsReportedAndHarmless) {
  CounterSet set;
  set.counter("x", "").add(5);
  set.gauge("x", "").set(9);
  const std::vector<Sample> samples = set.snapshot();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(std::get<std::uint64_t>(samples[0].value), 5U);
  EXPECT_EQ(samples[1].name, "counter_names_dropped");
}

TEST(CounterSet, ThreadsMayRegisterAndAddAtOnce) {
  CounterSet set;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&set] {
      for (int i = 0; i < 1'000; ++i) set.counter("n" + std::to_string(i % 10), "").add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Sample& sample : set.snapshot()) {
    EXPECT_EQ(std::get<std::uint64_t>(sample.value), 400U) << sample.name;
  }
}

}  // namespace
}  // namespace godwit::trace
