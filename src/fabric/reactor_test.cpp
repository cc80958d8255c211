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

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(20);

std::unique_ptr<Reactor> make_reactor(std::int64_t spin_us = 50) {
  auto reactor = Reactor::create({.name = "test", .spin_us = spin_us});
  return *std::move(reactor);
}

// Work that arrives from outside through a wake-up descriptor, with a transport's arming rules.
class FakeTransport final : public Transport {
 public:
  FakeTransport() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // Any thread.
  void deliver() {
    arrived_.fetch_add(1);
    if (armed_.exchange(false)) ::eventfd_write(wake_.get(), 1);
  }
  void complete_on(Waiter& waiter, std::uint64_t count) {
    waiter_ = &waiter;
    complete_at_ = count;
  }
  [[nodiscard]] std::uint64_t handled() const { return handled_.load(); }

  Result<Address> listen(const Address& address) override { return address; }
  Result<LinkId> connect(const Address&) override { return LinkId{1}; }
  Sent send(LinkId, const wire::Header&, std::span<const Bytes>, std::uint64_t) override {
    return Sent::down;
  }
  std::size_t small_limit() const override { return 0; }
  void close(LinkId) override {}
  std::size_t poll(std::size_t) override {
    armed_.store(false);
    eventfd_t rings = 0;
    if (std::exchange(maybe_rung_, false)) ::eventfd_read(wake_.get(), &rings);
    const std::uint64_t arrived = arrived_.load();
    const std::uint64_t before = handled_.exchange(arrived);
    if (waiter_ != nullptr && arrived >= complete_at_) std::exchange(waiter_, nullptr)->complete();
    return arrived - before;
  }
  bool prepare_to_sleep() override {
    armed_.store(true);
    maybe_rung_ = true;
    return arrived_.load() == handled_.load();
  }
  int wake_fd() const override { return wake_.get(); }

 private:
  Fd wake_;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> handled_{0};
  std::atomic<bool> armed_{false};
  bool maybe_rung_ = false;
  Waiter* waiter_ = nullptr;
  std::uint64_t complete_at_ = 0;
};

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

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

TEST(Reactor, WaitEndsAtItsDeadline) {
  for (const bool started : {true, false}) {
    auto reactor = make_reactor();
    if (started) {
      ASSERT_TRUE(reactor->start());
    }
    Waiter waiter;
    const Time before = reactor->now();
    EXPECT_FALSE(reactor->wait(waiter, before + milliseconds(30)));
    EXPECT_GE(reactor->now() - before, milliseconds(30));
    EXPECT_LT(reactor->now() - before, seconds(10));
  }
}

TEST(Reactor, WaitEndsWhenTheReactorStops) {
  auto reactor = make_reactor();
  ASSERT_TRUE(reactor->start());
  Waiter waiter;
  std::atomic<bool> returned{false};
  std::thread waiting([&] {
    EXPECT_FALSE(reactor->wait(waiter, reactor->now() + seconds(600)));
    returned = true;
  });
  reactor->stop();
  EXPECT_TRUE(eventually([&] { return returned.load(); }));
  waiting.join();
}

TEST(Reactor, WaitingThreadDrivesAReactorThatHasNoProgressThread) {
  auto reactor = make_reactor(0);
  FakeTransport transport;
  ASSERT_TRUE(reactor->add(transport));
  Waiter waiter;
  transport.complete_on(waiter, 100);
  std::thread sender([&] {
    for (int i = 0; i < 100; ++i) transport.deliver();
  });
  EXPECT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
  sender.join();
  reactor->remove(transport);
}

TEST(Reactor, OutsideWorkWakesSleepersInEveryModeAndIsNeverLost) {
  for (const std::int64_t spin_us : {0, 20}) {
    auto reactor = make_reactor(spin_us);
    FakeTransport transport;
    ASSERT_TRUE(reactor->add(transport));
    ASSERT_TRUE(reactor->start());
    // Quick successions of waits (the waiting thread sleeps in epoll itself) and pauses (the
    // progress thread does) alternate.
    std::uint64_t expected = 0;
    for (int round = 0; round < 400; ++round) {
      Waiter waiter;
      ++expected;
      std::atomic<bool> armed{false};
      reactor->post([&, expected] {
        transport.complete_on(waiter, expected);
        armed = true;
      });
      if (round % 50 == 49) {
        ASSERT_TRUE(eventually([&] { return armed.load(); }));
      }
      transport.deliver();
      ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kPatience)) << "round " << round;
    }
    transport.deliver();
    ASSERT_TRUE(eventually([&] { return transport.handled() == expected + 1; }));
    reactor->stop();
    reactor->remove(transport);
  }
}

TEST(Reactor, ManyThreadsWaitPostAndVisitAtOnce) {
  for (const std::int64_t spin_us : {0, 50}) {
    auto reactor = make_reactor(spin_us);
    ASSERT_TRUE(reactor->start());
    std::uint64_t owned_count = 0;  // unprotected: ownership is the protection
    std::atomic<std::uint64_t> visits{0};
    constexpr int kThreads = 4;
    constexpr int kRounds = 300;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          Waiter waiter;
          reactor->post([&] {
            ++owned_count;
            if ((i + t) % 3 == 0) {
              reactor->post_at(reactor->now() + std::chrono::microseconds(100 * (i % 5)),
                               [&] { waiter.complete(); });
            } else if ((i + t) % 3 == 1) {
              reactor->offload([] {}, [&] { waiter.complete(); });
            } else {
              waiter.complete();
            }
          });
          if (reactor->try_run_as_owner([&] { ++owned_count; })) ++visits;
          ASSERT_TRUE(reactor->wait(waiter, reactor->now() + kPatience)) << t << " " << i;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    reactor->stop();
    EXPECT_EQ(owned_count, kThreads * kRounds + visits.load());
  }
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
