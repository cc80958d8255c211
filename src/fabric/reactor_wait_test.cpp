// Threads that wait, and so drive the reactor.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fabric/reactor_for_test.hpp"

namespace godwit::fabric {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

TEST(Reactor, WhoStartsSomethingAndWaitsForItStaysInside) {
  auto reactor = make_reactor(20'000'000);  // who waits does not leave to sleep
  FakeTransport transport;
  ASSERT_TRUE(reactor->add(transport));
  Waiter waiter;
  std::atomic<bool> inside{false};
  std::thread other([&] {
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(reactor->try_run_as_owner([] {}));
    transport.deliver();
  });
  const auto start = [&] {
    transport.complete_on(waiter, 1);
    inside = true;
  };
  EXPECT_TRUE(reactor->try_run_and_wait(start, waiter, reactor->now() + kPatience));
  EXPECT_TRUE(waiter.done());
  other.join();
  EXPECT_TRUE(reactor->try_run_as_owner([] {}));
  reactor->remove(transport);
}

TEST(Reactor, StartingAndWaitingEndsAsWaitingDoes) {
  auto reactor = make_reactor();
  Waiter at_once;
  EXPECT_TRUE(reactor->try_run_and_wait([&] { at_once.complete(); }, at_once, kNever));
  Waiter late;
  EXPECT_TRUE(reactor->try_run_and_wait([] {}, late, reactor->now() + milliseconds(20)));
  EXPECT_FALSE(late.done());
  EXPECT_FALSE(reactor->owned_by_this_thread());
  EXPECT_TRUE(reactor->try_run_as_owner([&] {
    std::thread([&] {
      EXPECT_FALSE(reactor->try_run_and_wait([] { FAIL(); }, late, kNever));
    }).join();
  }));
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

// Its first sleep, on behalf of itself alone, and the one after it, in epoll.
constexpr std::uint64_t kArmingsOfALongWait = 2;

constexpr std::uint64_t kLongWaits = 20;

// How many of so many threads that wait for long handle themselves what they wait for.
std::uint64_t count_woken_directly() {
  auto reactor = make_reactor(0);
  FakeTransport transport;
  EXPECT_TRUE(reactor->add(transport));
  EXPECT_TRUE(reactor->start());
  std::uint64_t woken_directly = 0;
  for (std::uint64_t round = 1; round <= kLongWaits; ++round) {
    Waiter waiter;
    transport.count_armings_anew();
    std::thread waiting([&] {
      transport.count_my_armings();
      reactor->post([&, round] { transport.complete_on(waiter, round); });
      EXPECT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
    });
    EXPECT_TRUE(eventually([&] { return transport.armings() >= kArmingsOfALongWait; }));
    const auto who = waiting.get_id();
    transport.deliver();
    waiting.join();
    if (transport.handled_by() == who) ++woken_directly;
  }
  // The progress thread is on duty again.
  transport.deliver();
  EXPECT_TRUE(eventually([&] { return transport.handled() == kLongWaits + 1; }));
  reactor->stop();
  reactor->remove(transport);
  return woken_directly;
}

// One that does not get a core in time gives up for a while: a busy machine takes several attempts.
TEST(Reactor, WhoHasWaitedForLongIsWokenByTheEventItself) {
  EXPECT_TRUE(eventually([] { return count_woken_directly() >= kLongWaits / 2; }));
}

// How many of 90 answers, each of which comes as soon as somebody is ready to sleep, took longer
// than any of them should: so long sleeps a thread that is forgotten.
int count_late_answers() {
  constexpr std::uint64_t kRounds = 90;
  constexpr auto kLate = std::chrono::microseconds(200);
  auto reactor = make_reactor(0);
  FakeTransport transport;
  EXPECT_TRUE(reactor->add(transport));
  EXPECT_TRUE(reactor->start());
  std::atomic<std::uint64_t> asked{0};
  std::thread peer([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      EXPECT_TRUE(eventually([&] { return asked.load() >= round && transport.is_armed(); }));
      transport.deliver();
    }
  });
  int late = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    Waiter waiter;
    const auto ask = [&, round] {
      transport.complete_on(waiter, round);
      asked = round;
    };
    const Time before = reactor->now();
    if (!reactor->try_run_and_wait(ask, waiter, before + kPatience)) {
      reactor->post(ask);
      EXPECT_TRUE(reactor->wait(waiter, before + kPatience));
    }
    if (reactor->now() - before >= kLate) ++late;
  }
  peer.join();
  reactor->stop();
  reactor->remove(transport);
  return late;
}

// It was forgotten once in nine times: in leaving for the eighth time in quick succession it sent
// the progress thread on patrol, and slept as if that was there. A busy machine is late, too.
TEST(Reactor, WhoLeavesToSleepTimeAndAgainIsWokenEachTime) {
  EXPECT_TRUE(eventually([] { return count_late_answers() == 0; }));
}

TEST(Reactor, OthersThatWaitOutlastTheOneThatSleepsForAll) {
  for (int round = 0; round < 20; ++round) {
    auto reactor = make_reactor(0);
    FakeTransport transport;
    ASSERT_TRUE(reactor->add(transport));
    ASSERT_TRUE(reactor->start());
    Waiter first;
    std::thread sentry([&] {
      transport.count_my_armings();
      EXPECT_TRUE(reactor->wait(first, reactor->now() + kPatience));
    });
    EXPECT_TRUE(eventually([&] { return transport.armings() >= kArmingsOfALongWait; }));
    std::vector<Waiter> others(4);
    std::vector<std::thread> threads;
    for (Waiter& waiter : others) {
      threads.emplace_back([&] { EXPECT_TRUE(reactor->wait(waiter, reactor->now() + kPatience)); });
    }
    reactor->post([&] { first.complete(); });
    sentry.join();
    for (Waiter& waiter : others) reactor->post([&] { waiter.complete(); });
    for (std::thread& thread : threads) thread.join();
    reactor->stop();
    reactor->remove(transport);
  }
}

// A thread that gets no core, in the middle of whatever it does, until it is let go on.
class Frozen {
 public:
  explicit Frozen(pthread_t thread) {
    frozen_ = false;
    go_on_ = false;
    struct sigaction freeze{};
    freeze.sa_handler = [](int) {
      frozen_ = true;
      while (!go_on_) ::sched_yield();
    };
    ::sigaction(SIGUSR1, &freeze, &before_);
    ::pthread_kill(thread, SIGUSR1);
    EXPECT_TRUE(eventually([] { return frozen_.load(); }));
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() {
    go_on_ = true;
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  static inline std::atomic<bool> frozen_{false};
  static inline std::atomic<bool> go_on_{false};
  struct sigaction before_{};
};

TEST(Reactor, NobodyWaitsForASleeperThatGetsNoCore) {
  auto reactor = make_reactor(0);
  FakeTransport transport;
  ASSERT_TRUE(reactor->add(transport));
  ASSERT_TRUE(reactor->start());
  Waiter waiter;
  std::thread waiting([&] {
    transport.count_my_armings();
    EXPECT_TRUE(reactor->wait(waiter, reactor->now() + kPatience));
  });
  EXPECT_TRUE(eventually([&] { return transport.armings() >= kArmingsOfALongWait; }));
  {
    const Frozen frozen(waiting.native_handle());
    for (std::uint64_t event = 1; event <= 3; ++event) {
      transport.deliver();
      EXPECT_TRUE(eventually([&] { return transport.handled() == event; })) << event;
    }
    std::atomic<bool> in_time{false};
    reactor->post([&] {
      reactor->post_at(reactor->now() + std::chrono::milliseconds(5), [&] { in_time = true; });
    });
    EXPECT_TRUE(eventually([&] { return in_time.load(); }));
  }
  reactor->post([&] { waiter.complete(); });
  waiting.join();
  reactor->stop();
  reactor->remove(transport);
}

// Has something for others every other time that it is asked, for two seconds.
class BusyTransport final : public MuteTransport {
 public:
  explicit BusyTransport(std::uint64_t first) : polls_(first) {}
  std::size_t poll(std::size_t) override {
    return std::chrono::steady_clock::now() < until_ ? polls_++ % 2 : 0;
  }
  bool prepare_to_sleep() override { return true; }
  int wake_fd() const override { return -1; }

 private:
  std::uint64_t polls_;
  const std::chrono::steady_clock::time_point until_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

TEST(Reactor, OthersEventsDoNotKeepAWaiterBeyondItsDeadline) {
  for (const std::uint64_t first : {0, 1}) {
    auto reactor = make_reactor(50'000);
    BusyTransport transport(first);
    ASSERT_TRUE(reactor->add(transport));
    const Time before = reactor->now();
    Waiter never;
    EXPECT_FALSE(reactor->wait(never, before + std::chrono::milliseconds(10)));
    EXPECT_LT(reactor->now() - before, std::chrono::seconds(1));
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

}  // namespace
}  // namespace godwit::fabric
