#include "trace/events.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace godwit::trace {
namespace {

TEST(EventRing, KeepsTheLastEventsInOrder) {
  EventRing ring(4);
  for (int i = 0; i < 10; ++i) {
    ring.record("e" + std::to_string(i), 7, Time{i}, Duration(1), static_cast<std::uint64_t>(i));
  }
  const std::vector<Event> events = ring.snapshot();
  ASSERT_EQ(events.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(events[i].name, "e" + std::to_string(i + 6));
    EXPECT_EQ(events[i].argument, i + 6);
    EXPECT_EQ(events[i].track, 7U);
  }
  EXPECT_EQ(ring.dropped(), 0U);
}

TEST(EventRing, RoundsItsCapacityAndCutsNames) {
  EventRing ring(5);
  EXPECT_EQ(ring.capacity(), 8U);
  ring.record(std::string(100, 'n'), 0, Time{}, Duration(0));
  ring.record("", 0, Time{}, Duration(0));
  EXPECT_EQ(ring.snapshot().at(0).name, std::string(Event::kNameLimit, 'n'));
  EXPECT_EQ(ring.snapshot().at(1).name, "");
}

// Every word of an event carries the same number, so that a mixture of two events shows.
TEST(EventRing, ReadersNeverSeeHalfAnEvent) {
  EventRing ring(8);
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (std::uint32_t t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint32_t i = t; !stop.load(std::memory_order_relaxed); i += 3) {
        ring.record(std::to_string(i), i, Time{i}, Duration(i), i);
      }
    });
  }
  std::size_t seen = 0;
  std::size_t torn = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen < 20'000 && std::chrono::steady_clock::now() < deadline) {
    for (const Event& event : ring.snapshot()) {
      ++seen;
      const bool whole = event.name == std::to_string(event.track) &&
                         event.argument == event.track && event.start.ns == event.track &&
                         event.duration.count() == event.track;
      torn += whole ? 0 : 1;
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(torn, 0U);
  EXPECT_GE(seen, 1'000U);
}

class TickingClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return {ns += 100}; }
  mutable std::int64_t ns = 0;
};

TEST(Span, RecordsItsOwnLifetime) {
  EventRing ring(4);
  const TickingClock clock;
  {
    Span span(&ring, clock, "load", 3);
    span.set_argument(42);
    EXPECT_TRUE(ring.snapshot().empty());
  }
  const std::vector<Event> events = ring.snapshot();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "load");
  EXPECT_EQ(events[0].start.ns, 100);
  EXPECT_EQ(events[0].duration, Duration(100));
  EXPECT_EQ(events[0].argument, 42U);
}

TEST(Span, WithoutARingNeverReadsTheClock) {
  const TickingClock clock;
  {
    const Span span(nullptr, clock, "load", 3);
  }
  EXPECT_EQ(clock.ns, 0);
}

}  // namespace
}  // namespace godwit::trace
