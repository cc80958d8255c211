#include "base/task.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

namespace godwit {
namespace {

// Whether a task keeps its capture in place shows in the address the capture sees.
template <std::size_t kSize>
struct Where {
  std::array<std::byte, kSize> ballast{};
  const void* operator()() const { return this; }
};

template <std::size_t kSize>
bool stored_inline() {
  UniqueFunction<const void*()> function = Where<kSize>();
  const auto begin = reinterpret_cast<std::uintptr_t>(&function);
  const auto at = reinterpret_cast<std::uintptr_t>(function());
  return at >= begin && at < begin + sizeof function;
}

TEST(Task, KeepsSmallCapturesInlineAndLargeOnesOnTheHeap) {
  EXPECT_TRUE(stored_inline<1>());
  EXPECT_TRUE(stored_inline<Task::kInlineSize>());
  EXPECT_FALSE(stored_inline<Task::kInlineSize + 1>());
}

TEST(Task, IsEmptyUntilGivenSomething) {
  Task task;
  EXPECT_FALSE(task);
  task = [] {};
  EXPECT_TRUE(task);
  task = {};
  EXPECT_FALSE(task);
}

TEST(Task, PassesArgumentsAndResultsThrough) {
  UniqueFunction<std::string(std::unique_ptr<std::string>, const char*)> join =
      [](std::unique_ptr<std::string> left, const char* right) { return *left + right; };
  EXPECT_EQ(join(std::make_unique<std::string>("god"), "wit"), "godwit");
}

TEST(Task, KeepsStateBetweenCalls) {
  UniqueFunction<int()> count = [n = 0]() mutable { return ++n; };
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 2);
}

// Counts live copies of itself and makes the capture as large as asked.
template <std::size_t kSize>
class Tracked {
 public:
  explicit Tracked(int& live) : live_(&live) { ++*live_; }
  Tracked(Tracked&& other) noexcept : live_(other.live_) { ++*live_; }
  Tracked(const Tracked&) = delete;
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() { --*live_; }
  void operator()() const {}

 private:
  int* live_;
  std::array<std::byte, kSize> ballast_{};
};

template <std::size_t kSize>
void expect_one_owner() {
  int live = 0;
  {
    Task first = Tracked<kSize>(live);
    EXPECT_EQ(live, 1);
    Task second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is specified
    EXPECT_EQ(live, 1);
    Task third = [] {};
    third = std::move(second);
    third();
    EXPECT_EQ(live, 1);
    third = [] {};
    EXPECT_EQ(live, 0) << "assignment ends what was held";
    first = Tracked<kSize>(live);
  }
  EXPECT_EQ(live, 0);
}

TEST(Task, MovesOwnInlineCapturesOnce) {
  expect_one_owner<8>();
}
TEST(Task, MovesOwnHeapCapturesOnce) {
  expect_one_owner<200>();
}

// A capture whose move may throw cannot be moved inline by a noexcept move: it goes to the heap.
struct ThrowingMove {
  ThrowingMove() = default;
  ThrowingMove(ThrowingMove&&) noexcept(false) {}
  const void* operator()() const { return this; }
};

TEST(Task, CapturesWithThrowingMovesStayWhereTheyAre) {
  UniqueFunction<const void*()> function = ThrowingMove();
  const void* const before = function();
  UniqueFunction<const void*()> moved = std::move(function);
  EXPECT_EQ(moved(), before);
}

}  // namespace
}  // namespace godwit
