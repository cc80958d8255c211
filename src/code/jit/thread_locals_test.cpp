#include "code/jit/thread_locals.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <latch>
#include <optional>
#include <thread>

namespace godwit::code::jit {
namespace {

// What a library with two thread-locals looks like: a counter that starts with 40, and room.
class Variables {
 public:
  Variables() {
    const std::array<ThreadLocalControl*, 2> controls{&counter_, &room_};
    made_ = ThreadLocals::create(controls).value();
  }
  // Of the calling thread.
  std::uint64_t count_up() {
    auto* counter = static_cast<std::uint64_t*>(ThreadLocals::address(&counter_));
    std::memset(ThreadLocals::address(&room_), 0xff, room_.size);
    return ++*counter;
  }

 private:
  std::uint64_t start_ = 40;
  ThreadLocalControl counter_{sizeof start_, alignof(std::uint64_t), nullptr, &start_};
  ThreadLocalControl room_{1000, 64, nullptr, nullptr};
  std::unique_ptr<ThreadLocals> made_;
};

TEST(JitThreadLocals, EveryThreadHasItsOwn) {
  Variables variables;
  EXPECT_EQ(variables.count_up(), 41U);
  std::thread([&] { EXPECT_EQ(variables.count_up(), 41U); }).join();
  EXPECT_EQ(variables.count_up(), 42U);
}

TEST(JitThreadLocals, ALibraryNeverSeesThoseOfOneThatWasHereBefore) {
  for (int round = 0; round < 100; ++round) {
    Variables first;
    std::optional<Variables> second(std::in_place);
    EXPECT_EQ(first.count_up(), 41U);
    EXPECT_EQ(second->count_up(), 41U);
    second.reset();
    Variables third;  // where the second was
    EXPECT_EQ(third.count_up(), 41U);
    EXPECT_EQ(first.count_up(), 42U);
  }
}

// Threads come and go while libraries do: blocks end on both sides at once.
TEST(JitThreadLocals, LibrariesAndThreadsEndInAnyOrder) {
  constexpr int kThreads = 3;
  Variables lasting;
  for (int round = 0; round < 50; ++round) {
    Variables one;
    std::optional<Variables> other(std::in_place);
    std::latch used(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        EXPECT_EQ(lasting.count_up(), 41U);
        EXPECT_EQ(other->count_up(), 41U);
        used.count_down();
        for (std::uint64_t call = 41; call < 60; ++call) EXPECT_EQ(one.count_up(), call);
      });
    }
    used.wait();
    other.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace godwit::code::jit
