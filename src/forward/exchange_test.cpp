#include "godwit/exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/fail.hpp"

namespace godwit {
namespace {

struct Ball {
  std::uint32_t id = 0;
  std::uint32_t hops = 0;
};
struct Hit {
  std::uint32_t pixel = 0;
  float light = 0;
};

// Runs `body` on threads; what goes wrong on any of them fails the test.
template <class Body>
void on_ranks(Rank ranks, Body&& body) {
  const Status done = run_ranks(ranks, body);
  ASSERT_TRUE(done) << done.error().message;
}

TEST(Exchange, BringsWhatWasEmittedInTheNextRound) {
  on_ranks(3, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    exchange.emit(Ball{.id = static_cast<std::uint32_t>(group.rank())}, (group.rank() + 1) % 3);
    EXPECT_TRUE(exchange.incoming<Ball>().empty());
    GODWIT_TRY(const Round round, exchange.advance());
    EXPECT_EQ(round.number, 1U);
    EXPECT_EQ(round.alive, 3U);
    EXPECT_EQ(round.incoming, 1U);
    EXPECT_EQ(round.held_back, 0U);
    for (const Ball& ball : exchange.incoming<Ball>()) {
      EXPECT_EQ(ball.id, static_cast<std::uint32_t>(group.rank() + 2) % 3);
    }
    GODWIT_TRY(const Round last, exchange.advance());
    EXPECT_EQ(last.alive, 0U);
    EXPECT_TRUE(exchange.incoming<Ball>().empty());
    return {};
  });
}

TEST(Exchange, RunsALoopOfOnesOwn) {
  std::atomic<std::uint32_t> processed = 0;
  on_ranks(4, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    exchange.emit(Ball{.hops = 10}, 0);
    for (;;) {
      GODWIT_TRY(const Round round, exchange.advance());
      if (round.alive == 0) return {};
      exchange.process([&](const Ball& ball, auto& out) {
        ++processed;
        if (ball.hops > 0) out.emit(Ball{.hops = ball.hops - 1}, (out.rank() + 1) % out.ranks());
      });
    }
  });
  EXPECT_EQ(processed, 4U * 11U);
}

TEST(Exchange, RunsSeveralTimesOneAfterTheOther) {
  std::atomic<std::uint32_t> processed = 0;
  on_ranks(3, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    for (std::uint32_t i = 0; i < 50; ++i) {
      exchange.emit(Ball{.id = i, .hops = 3}, static_cast<Rank>(i % 3));
      const Pace pace = i % 3 == 0 ? Pace::rounds : Pace::free;
      GODWIT_TRY(const RunReport report,
                 exchange.run(
                     [&](const Ball& ball, auto& out) {
                       EXPECT_EQ(ball.id, i);  // of this run, not of the next
                       ++processed;
                       if (ball.hops > 0)
                         out.emit(Ball{.id = i, .hops = ball.hops - 1}, (out.rank() + 1) % 3);
                     },
                     pace));
      EXPECT_EQ(report.rounds > 0, pace == Pace::rounds);
    }
    return {};
  });
  EXPECT_EQ(processed, 3U * 50U * 4U);
}

TEST(Exchange, MovesSeveralKindsOfItems) {
  std::mutex mutex;
  std::vector<float> image(16);
  on_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, (Exchange<Ball, Reduced<Hit>>::create(group)));
    std::vector<float> mine(16);
    exchange.template reduce<Hit>([&](const Hit& hit) { mine[hit.pixel] += hit.light; });
    for (std::uint32_t i = 0; i < 100; ++i) exchange.emit(Ball{.id = i, .hops = 1}, 1);
    // Each ball deposits light at rank 0, whichever rank it is on.
    GODWIT_TRY(const RunReport report, exchange.run([](const Ball& ball, auto& out) {
      out.emit(Hit{.pixel = ball.id % 16, .light = 1}, 0);
      if (ball.hops > 0) out.emit(Ball{.id = ball.id}, 0);
    }));
    EXPECT_EQ(report.processed, 200U);
    if (group.rank() == 0) image = mine;
    return {};
  });
  EXPECT_EQ(std::accumulate(image.begin(), image.end(), 0.0F), 400);
  EXPECT_EQ(image[0], 2 * 2 * 7);
}

TEST(Exchange, CountsReducedItemsAsNeitherAliveNorIncoming) {
  on_ranks(2, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Reduced<Hit>>::create(group));
    float light = 0;
    exchange.reduce<Hit>([&](const Hit& hit) { light += hit.light; });
    for (int i = 0; i < 5000; ++i) exchange.emit(Hit{.light = 1}, 1 - group.rank());
    GODWIT_TRY(const Round round, exchange.advance());
    EXPECT_EQ(round.alive, 0U);
    EXPECT_EQ(round.incoming, 0U);
    EXPECT_EQ(light, 5000);
    return {};
  });
}

struct Path {
  std::uint32_t id = 0;
};

TEST(Exchange, MovesItemsWithTailsOfAnyLength) {
  on_ranks(2, [](Group& group) -> Status {
    const ExchangeOptions options{.chunk_bytes = 1024};
    GODWIT_TRY(auto exchange, (Exchange<Tailed<Path, double>>::create(group, options)));
    std::vector<double> tail(3000);
    std::iota(tail.begin(), tail.end(), 0.0);
    for (std::uint32_t i = 0; i < 3000; i += 7) {
      exchange.emit(Path{i}, std::span<const double>(tail).first(i), 1 - group.rank());
    }
    std::uint32_t seen = 0;
    GODWIT_TRY(const RunReport report,
               exchange.run([&](const WithTail<Path, double>& path, auto& out) {
                 ++seen;
                 EXPECT_EQ(path.tail.size(), path.head.id);
                 for (std::size_t i = 0; i < path.tail.size(); ++i) {
                   ASSERT_EQ(path.tail[i], static_cast<double>(i));
                 }
                 // On, one shorter, a few times.
                 if (path.head.id % 7 == 0 && path.head.id > 0) {
                   out.emit(Path{path.head.id - 1}, path.tail.first(path.head.id - 1), out.rank());
                 }
               }));
    EXPECT_EQ(seen, 429U + 428U);
    EXPECT_EQ(report.processed, seen);
    return {};
  });
}

TEST(Exchange, ProcessesUrgentItemsFirst) {
  on_ranks(2, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    if (group.rank() == 0) {
      exchange.emit(Ball{.id = 1}, 1, Priority::background);
      exchange.emit(Ball{.id = 2}, 1);
      exchange.emit(Ball{.id = 3}, 1, Priority::urgent);
      exchange.emit(Ball{.id = 4}, 1, Priority::high);
    }
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    std::vector<std::uint32_t> order;
    for (const Ball& ball : exchange.incoming<Ball>()) order.push_back(ball.id);
    if (group.rank() == 1) {
      EXPECT_THAT(order, testing::ElementsAre(3, 4, 2, 1));
    }
    return {};
  });
}

// One rank and one worker, so that nothing depends on who is quicker.
TEST(Exchange, LetsUrgentItemsOvertakeInARunWithoutRounds) {
  on_ranks(1, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group, {.chunk_bytes = 1024}));
    constexpr std::uint32_t kBalls = 100'000;
    for (std::uint32_t id = 1; id <= kBalls; ++id) {
      exchange.emit(Ball{.id = id}, 0, Priority::background);
    }
    exchange.emit(Ball{.id = 0}, 0, Priority::urgent);
    std::vector<std::uint32_t> order;
    GODWIT_CHECK(exchange.run([&](const Ball& ball, auto& out) {
      // As late as half of them have been processed, another one comes into being.
      if (order.size() == kBalls / 2) out.emit(Ball{.id = kBalls + 1}, 0, Priority::high);
      order.push_back(ball.id);
    }));
    EXPECT_EQ(order.size(), kBalls + 2);
    const auto place_of = [&](std::uint32_t id) {
      return std::find(order.begin(), order.end(), id) - order.begin();
    };
    EXPECT_LT(place_of(0), kBalls / 4);
    EXPECT_LT(place_of(kBalls + 1), kBalls * 3 / 4);
    return {};
  });
}

TEST(Exchange, TellsWhatItDid) {
  on_ranks(2, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    for (int i = 0; i < 10; ++i) exchange.emit(Ball{}, 0);
    EXPECT_EQ(exchange.status().emitted, 10U);  // also what still lies in an open chunk
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    const ExchangeStatus status = exchange.status();
    EXPECT_EQ(status.emitted, 10U);
    EXPECT_THAT(status.emitted_to, testing::ElementsAre(10, 0));
    EXPECT_EQ(status.stayed, group.rank() == 0 ? 10U : 0U);
    EXPECT_EQ(status.arrived, group.rank() == 0 ? 20U : 0U);
    EXPECT_EQ(status.chunks_sent, group.rank() == 0 ? 0U : 1U);
    EXPECT_EQ(status.spilled, 0U);
    EXPECT_GT(status.queue_high_bytes, 0U);
    return {};
  });
}

TEST(Exchange, LeavesNothingBehindInItsQueues) {
  on_ranks(3, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Ball>::create(group));
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      exchange.emit(Ball{.id = i, .hops = 2}, static_cast<Rank>(i % 3));
    }
    GODWIT_TRY([[maybe_unused]] const RunReport report,
               exchange.run([](const Ball& ball, auto& out) {
                 if (ball.hops > 0) out.emit(Ball{ball.id, ball.hops - 1}, (out.rank() + 1) % 3);
               }));
    // The others may still be giving chunks back; a round waits for them.
    GODWIT_TRY([[maybe_unused]] const Round first, exchange.advance());
    EXPECT_EQ(exchange.status().queue_bytes, 0U);
    return {};
  });
}

// Two exchanges of one group do not see each other's items.
TEST(Exchange, HasSiblings) {
  on_ranks(2, [](Group& group) -> Status {
    GODWIT_TRY(auto balls, Exchange<Ball>::create(group));
    GODWIT_TRY(auto hits, Exchange<Hit>::create(group));
    balls.emit(Ball{.id = 1}, 0);
    hits.emit(Hit{.pixel = 2}, 1);
    GODWIT_TRY(const Round of_hits, hits.advance());
    GODWIT_TRY(const Round of_balls, balls.advance());
    EXPECT_EQ(of_hits.incoming, group.rank() == 1 ? 2U : 0U);
    EXPECT_EQ(of_balls.incoming, group.rank() == 0 ? 2U : 0U);
    return {};
  });
}

}  // namespace
}  // namespace godwit
