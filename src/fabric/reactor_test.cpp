#include "fabric/reactor.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/reactor_for_test.hpp"

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Reactor, RunsPostedTasksInOrderOnOneThreadAtATime) {
  auto reactor = make_reactor();
  ASSERT_TRUE(reactor->start());
  std::vector<int> ran;  // unprotected: only the owner touches it
  Waiter waiter;
  for (int i = 0; i < 1000; ++i) reactor->post([&, i] { ran.push_back(i); });
  reactor->post([&] { waiter.complete(); });
  ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
  ASSERT_EQ(ran.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  reactor->stop();
}

TEST(Reactor, PostWakesASleepingProgressThread) {
  auto reactor = make_reactor(0);
  ASSERT_TRUE(reactor->start());
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> ran{false};
    reactor->post([&] { ran = true; });
    ASSERT_TRUE(eventually([&] { return ran.load(); })) << "round " << i;
  }
  reactor->stop();
}

TEST(Reactor, TimersFireWhileTheProgressThreadSleepsAndCancelledOnesDoNot) {
  auto reactor = make_reactor(0);
  ASSERT_TRUE(reactor->start());
  Waiter waiter;
  bool cancelled_ran = false;
  reactor->post([&] {
    const TimerId timer =
        reactor->post_at(reactor->now() + milliseconds(2), [&] { cancelled_ran = true; });
    reactor->post_at(reactor->now() + milliseconds(20), [&] { waiter.complete(); });
    reactor->cancel(timer);
  });
  const Time before = reactor->now();
  ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
  EXPECT_GE(reactor->now() - before, milliseconds(19));
  EXPECT_FALSE(cancelled_ran);
  reactor->stop();
}

TEST(Reactor, EarlierTimerSetByAVisitorShortensTheSleep) {
  auto reactor = make_reactor(0);
  ASSERT_TRUE(reactor->start());
  reactor->post([&] { reactor->post_at(reactor->now() + seconds(60), [] {}); });
  std::atomic<bool> fired{false};
  ASSERT_TRUE(eventually([&] {
    return reactor->try_run_as_owner(
        [&] { reactor->post_at(reactor->now() + milliseconds(5), [&] { fired = true; }); });
  }));
  EXPECT_TRUE(eventually([&] { return fired.load(); }));
  reactor->stop();
}

// Such a visitor becomes the regular, and nobody else gets in by waiting for it to leave.
TEST(Reactor, VisitorThatNeverPollsKeepsNothingWaiting) {
  auto reactor = Reactor::create({}).value();
  ASSERT_TRUE(reactor->start());
  for (int i = 0; i < 2000; ++i) reactor->try_run_as_owner([] {});
  std::atomic<bool> fired{false};
  while (!reactor->try_run_as_owner([&] {
    reactor->post_at(reactor->now() + std::chrono::milliseconds(1), [&] { fired.store(true); });
  })) {
  }
  const Time limit = reactor->now() + std::chrono::seconds(20);
  while (!fired.load() && reactor->now() < limit) reactor->try_run_as_owner([] {});
  EXPECT_TRUE(fired.load());
  reactor->stop();
}

TEST(Reactor, VisitorIsRefusedWhileAnotherThreadOwns) {
  auto reactor = make_reactor();
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread owner([&] {
    EXPECT_TRUE(reactor->try_run_as_owner([&] {
      EXPECT_TRUE(reactor->owned_by_this_thread());
      inside = true;
      EXPECT_TRUE(eventually([&] { return leave.load(); }));
    }));
  });
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_FALSE(reactor->try_run_as_owner([] { FAIL(); }));
  EXPECT_FALSE(reactor->owned_by_this_thread());
  leave = true;
  owner.join();
  EXPECT_TRUE(reactor->try_run_as_owner([] {}));
}

TEST(ReactorDeathTest, WaitingInsideTheReactorEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto reactor = make_reactor();
  EXPECT_DEATH(
      {
        Waiter waiter;
        reactor->try_run_as_owner([&] { (void)reactor->wait(waiter, reactor->now()); });
      },
      "called by its owner");
}

TEST(Reactor, OffloadedWorkRunsElsewhereAndItsEndComesBack) {
  auto reactor = make_reactor();
  ASSERT_TRUE(reactor->start());
  Waiter waiter;
  std::thread::id worker;
  reactor->offload([&] { worker = std::this_thread::get_id(); },
                   [&] {
                     EXPECT_TRUE(reactor->owned_by_this_thread());
                     waiter.complete();
                   });
  ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
  EXPECT_NE(worker, std::this_thread::get_id());
  reactor->stop();
}

TEST(Reactor, BackgroundWorkKeepsNobodyWaiting) {
  auto reactor = make_reactor();
  ASSERT_TRUE(reactor->start());
  constexpr int kMoreThanThreads = 5;
  std::atomic<bool> go_on{false};
  std::atomic<int> background_policy{-1};
  std::atomic<int> finished{0};
  Waiter all_finished;
  for (int i = 0; i < kMoreThanThreads; ++i) {
    reactor->offload_background(
        [&] {
          background_policy = ::sched_getscheduler(0);
          go_on.wait(false);
        },
        [&] {
          if (++finished == kMoreThanThreads) all_finished.complete();
        });
  }
  Waiter quick;
  int quick_policy = -1;
  reactor->offload([&] { quick_policy = ::sched_getscheduler(0); }, [&] { quick.complete(); });
  EXPECT_TRUE(reactor->wait(quick, reactor->now() + kPatience));
  EXPECT_EQ(finished, 0);
  EXPECT_EQ(quick_policy, ::sched_getscheduler(0));
  go_on = true;
  go_on.notify_all();
  ASSERT_TRUE(reactor->wait(all_finished, reactor->now() + kPatience));
  EXPECT_EQ(background_policy, SCHED_IDLE);
  reactor->stop();
}

TEST(Reactor, IdleReactorUsesNoProcessorTime) {
  auto reactor = make_reactor();
  FakeTransport transport;
  ASSERT_TRUE(reactor->add(transport));
  ASSERT_TRUE(reactor->start());
  const auto cpu_us = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  // A burst of visits first: it must not leave the reactor patrolling for ever.
  for (int i = 0; i < 100; ++i) reactor->try_run_as_owner([] {});
  Waiter never;
  (void)reactor->wait(never, reactor->now() + milliseconds(50));
  const auto before = cpu_us();
  (void)reactor->wait(never, reactor->now() + milliseconds(500));
  EXPECT_LT(cpu_us() - before, 25'000);
  reactor->stop();
  reactor->remove(transport);
}

}  // namespace
}  // namespace godwit::fabric
