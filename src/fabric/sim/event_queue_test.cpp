#include "fabric/sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"

namespace godwit::fabric::sim {
namespace {

Event event_at(std::int64_t ns, Task task) {
  return {.at = {ns}, .task = std::move(task)};
}

void run_all(EventQueue& queue) {
  while (!queue.empty()) {
    const EventHandle handle = queue.pop();
    Task task = std::move(queue.at(handle).task);
    queue.release(handle);
    task();
  }
}

TEST(EventQueue, RunsInOrderOfTimeThenOfMaking) {
  EventQueue queue;
  std::vector<int> order;
  for (const int when : {5, 1, 3, 1, 5, 2}) {
    queue.push(event_at(when, [&order, when, n = order.size()] {
      order.push_back(when * 10 + static_cast<int>(n));
    }));
  }
  std::vector<std::pair<int, int>> made;
  EventQueue same_time;
  for (int i = 0; i < 100; ++i)
    same_time.push(event_at(7, [&made, i] { made.emplace_back(7, i); }));
  run_all(queue);
  run_all(same_time);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_TRUE(std::is_sorted(made.begin(), made.end()));
  EXPECT_EQ(made.size(), 100U);
}

TEST(EventQueue, AgreesWithASortedListUnderRandomPushesPopsAndCancels) {
  const Seed seed(11);
  Random random(seed.value());
  EventQueue queue;
  std::vector<std::pair<std::int64_t, EventHandle>> model;  // in order of making
  std::int64_t ran = -1;
  for (int i = 0; i < 20'000; ++i) {
    const auto choice = random.below(10);
    if (choice < 5) {
      const auto when = static_cast<std::int64_t>(random.below(1000));
      model.emplace_back(when, queue.push(event_at(when, [&ran, when] { ran = when; })));
    } else if (choice < 7 && !model.empty()) {
      const auto victim = model.begin() + static_cast<std::ptrdiff_t>(random.below(model.size()));
      EXPECT_TRUE(static_cast<bool>(queue.cancel(victim->second)));
      EXPECT_FALSE(static_cast<bool>(queue.cancel(victim->second))) << "cancelled twice";
      model.erase(victim);
    } else if (!model.empty()) {
      const auto first = std::min_element(model.begin(), model.end(),
                                          [](auto& a, auto& b) { return a.first < b.first; });
      const EventHandle handle = queue.pop();
      EXPECT_EQ(handle.slot, first->second.slot);
      EXPECT_EQ(queue.at(handle).at.ns, first->first);
      queue.release(handle);
      model.erase(first);
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

TEST(EventQueue, AnEventTakenOutCanStillBeCancelledUntilReleased) {
  EventQueue queue;
  queue.push(event_at(1, [] {}));
  const EventHandle handle = queue.pop();
  EXPECT_TRUE(static_cast<bool>(queue.cancel(handle)));
  EXPECT_FALSE(static_cast<bool>(queue.at(handle).task));
  queue.release(handle);
  queue.push(event_at(2, [] {}));  // reuses the slot
  EXPECT_FALSE(static_cast<bool>(queue.cancel(handle))) << "a stale handle must not hit the reuser";
}

}  // namespace
}  // namespace godwit::fabric::sim
