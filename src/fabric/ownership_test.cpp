#include "fabric/ownership.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace godwit::fabric {
namespace {

using std::chrono::steady_clock;

// Runs `f` on another thread and waits for it: "somebody else" for the calling thread.
template <class F>
auto elsewhere(F f) {
  decltype(f()) result{};
  std::thread([&] { result = f(); }).join();
  return result;
}

TEST(Ownership, BelongsToOneThreadUntilThatLeaves) {
  Ownership ownership;
  ASSERT_TRUE(ownership.try_enter());
  EXPECT_TRUE(ownership.is_mine());
  EXPECT_FALSE(elsewhere([&] { return ownership.try_enter() || ownership.try_evict(); }));
  EXPECT_FALSE(elsewhere([&] { return ownership.is_mine(); }));
  ownership.leave();
  EXPECT_FALSE(ownership.is_mine());
  EXPECT_FALSE(ownership.is_attended());
  EXPECT_TRUE(elsewhere([&] {
    const bool entered = ownership.try_enter();
    ownership.leave();
    return entered;
  }));
}

TEST(Ownership, RegularComesBackUntilItIsEvicted) {
  Ownership ownership;
  ASSERT_TRUE(ownership.try_enter());
  if (!ownership.become_regular()) GTEST_SKIP() << "this system has no membarrier";
  ownership.leave();
  EXPECT_NE(ownership.owner(), 0U);
  EXPECT_FALSE(ownership.is_mine());
  EXPECT_FALSE(ownership.is_attended()) << "nobody is inside";
  ASSERT_TRUE(ownership.try_enter());
  EXPECT_TRUE(ownership.is_mine());
  EXPECT_TRUE(elsewhere([&] { return ownership.is_attended(); }));
  EXPECT_TRUE(ownership.has_complaints());
  EXPECT_FALSE(elsewhere([&] { return ownership.try_enter(); }));
  EXPECT_FALSE(elsewhere([&] { return ownership.try_evict(); })) << "it is inside";
  ownership.leave();
  EXPECT_FALSE(elsewhere([&] { return ownership.try_enter(); }))
      << "a regular is evicted, or stays";
  EXPECT_TRUE(elsewhere([&] { return ownership.try_evict(); }));
  EXPECT_FALSE(ownership.try_enter()) << "the thread that evicted it has not left";
}

TEST(Ownership, RegularThatIsInsideDoesNotEnterTwice) {
  Ownership ownership;
  ASSERT_TRUE(ownership.try_enter());
  if (!ownership.become_regular()) GTEST_SKIP() << "this system has no membarrier";
  EXPECT_FALSE(ownership.try_enter());
  EXPECT_FALSE(ownership.try_evict());
  EXPECT_TRUE(ownership.is_attended());
  EXPECT_FALSE(ownership.has_complaints()) << "nobody else was there";
  ownership.leave();
  ASSERT_TRUE(ownership.try_enter());
  EXPECT_FALSE(ownership.try_enter());
  EXPECT_TRUE(ownership.is_mine());
}

TEST(Ownership, RegularThatResignedIsAnOrdinaryOwner) {
  Ownership ownership;
  ASSERT_TRUE(ownership.try_enter());
  if (!ownership.become_regular()) GTEST_SKIP() << "this system has no membarrier";
  ownership.resign();
  EXPECT_TRUE(ownership.is_mine());
  EXPECT_FALSE(elsewhere([&] { return ownership.try_enter() || ownership.try_evict(); }));
  ownership.leave();
  EXPECT_EQ(ownership.owner(), 0U);
}

TEST(Ownership, HasSeatsForAFewRegularsOnly) {
  Ownership ownership;
  const auto becomes_regular = [&] {
    if (!ownership.try_enter()) return false;
    const bool regular = ownership.become_regular();
    ownership.resign();
    ownership.leave();
    return regular;
  };
  if (!becomes_regular()) GTEST_SKIP() << "this system has no membarrier";
  // Threads that live at the same time: a tag is only known to be another while its thread lives.
  std::vector<std::thread> threads;
  std::atomic<std::size_t> turn{0};
  std::size_t regulars = 0;
  constexpr std::size_t kThreads = Ownership::kMaxRegulars + 4;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      while (turn.load() != i) std::this_thread::yield();
      regulars += becomes_regular() ? 1U : 0U;
      turn.store(i + 1);
      while (turn.load() != kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(regulars, Ownership::kMaxRegulars - 1);
  EXPECT_TRUE(becomes_regular()) << "this thread has its seat";
}

// Plain variables under the ownership: two owners at once lose increments, or are a data race.
TEST(Ownership, NeverHasTwoOwnersWhileRegularsComeAndGo) {
  Ownership ownership;
  std::uint64_t guarded = 0;
  std::uint64_t twin = 0;
  std::atomic<bool> stop{false};
  const auto visit = [&](std::uint64_t every) {
    std::uint64_t visits = 0;
    for (std::uint64_t turn = 1; !stop.load(std::memory_order_relaxed); ++turn) {
      if (!ownership.try_enter()) {
        if (turn % every != 0 || !ownership.try_evict()) {
          if (turn % 64 == 0) std::this_thread::yield();
          continue;
        }
      }
      EXPECT_EQ(guarded, twin);
      ++guarded;
      ++visits;
      ++twin;
      if (turn % 7 == 0) ownership.become_regular();
      if (turn % 1023 == 0) ownership.resign();
      ownership.leave();
    }
    return visits;
  };
  constexpr std::size_t kThreads = 4;
  std::array<std::uint64_t, kThreads> visits{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { visits[i] = visit(1 + 50 * i); });
  }
  const auto end = steady_clock::now() + std::chrono::milliseconds(700);
  while (steady_clock::now() < end) std::this_thread::yield();
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  std::uint64_t all = 0;
  for (const std::uint64_t each : visits) all += each;
  EXPECT_EQ(guarded, all);
  EXPECT_EQ(twin, all);
  EXPECT_GT(all, 1000U);
}

TEST(Ownership, ThreadThatIsEvictedNeverTakesItForItsOwn) {
  Ownership ownership;
  std::atomic<bool> stop{false};
  std::uint64_t wrong = 0;
  std::uint64_t evictions = 0;
  std::thread regular([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (ownership.try_enter()) {
        if (!ownership.has_regular()) ownership.become_regular();
        ownership.leave();
      }
      wrong += ownership.is_mine() ? 1U : 0U;
    }
  });
  const auto end = steady_clock::now() + std::chrono::milliseconds(300);
  while (steady_clock::now() < end) {
    if (!ownership.try_evict()) continue;
    ++evictions;
    ownership.leave();
  }
  stop.store(true);
  regular.join();
  EXPECT_EQ(wrong, 0U) << "after " << evictions << " evictions";
}

// What is_attended() promises: a note left for an owner is seen when that leaves, or its writer is
// told. The regular comes once per round, so that a note it missed stays missed.
TEST(Ownership, NoteIsSeenByTheRegularOrItsWriterIsTold) {
  Ownership ownership;
  std::atomic<std::uint64_t> note{0};
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> done{0};
  std::uint64_t seen = 0;  // the regular's, until `done`
  std::atomic<bool> stop{false};
  std::thread regular([&] {
    for (std::uint64_t next = 1; !stop.load(); ++next) {
      while (round.load() < next && !stop.load()) {
      }
      while (!ownership.try_enter()) {
      }
      if (next == 1) ownership.become_regular();
      for (std::uint64_t i = next % 40; i > 0; --i) full_fence();
      while (next % 64 == 0 && asked.load() < next && !stop.load()) {
      }
      ownership.leave();
      seen = note.load(std::memory_order_seq_cst);
      done.store(next);
    }
  });
  const auto end = steady_clock::now() + std::chrono::milliseconds(500);
  std::uint64_t attended = 0;
  std::uint64_t missed = 0;
  for (std::uint64_t next = 1; steady_clock::now() < end; ++next) {
    round.store(next);
    for (std::uint64_t i = next % 53; i > 0; --i) full_fence();
    note.store(next, std::memory_order_seq_cst);
    const bool is_attended = ownership.is_attended();
    asked.store(next);
    while (done.load() < next) {
    }
    attended += is_attended ? 1U : 0U;
    missed += is_attended && seen < next ? 1U : 0U;
  }
  stop.store(true);
  regular.join();
  EXPECT_EQ(missed, 0U) << "of " << attended;
}

}  // namespace
}  // namespace godwit::fabric
