// What goes wrong is told, on every rank, and nobody waits for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/fail.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

using testing::HasSubstr;

struct Pebble {
  std::uint32_t id = 0;
};
struct Cube {
  std::uint32_t id = 0;
  std::uint32_t edge = 0;
};

// How each rank's part ended.
template <class Body>
std::vector<Status> ends_of(Rank ranks, Body&& body) {
  std::vector<Status> ends(static_cast<std::size_t>(ranks));
  const Status done = run_ranks(ranks, [&](Group& group) -> Status {
    ends[static_cast<std::size_t>(group.rank())] = body(group);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return ends;
}

void expect_all(const std::vector<Status>& ends, ErrorCode code, const std::string& words) {
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const Status& end = ends[rank];
    ASSERT_FALSE(end) << "rank " << rank;
    EXPECT_EQ(end.error().code, code) << end.error().message;
    EXPECT_THAT(end.error().message, HasSubstr(words));
  }
}

TEST(ExchangeRefuses, GroupsWithoutRanks) {
  for (const Rank ranks : {0, -1, Group::kMaxRanks + 1}) {
    const auto group = Group::threads(ranks);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().code, ErrorCode::invalid_argument);
  }
}

TEST(ExchangeRefuses, OptionsThatMakeNoSense) {
  auto members = Group::threads(1);
  ASSERT_TRUE(members);
  Group& alone = members->front();
  const auto expect_refused = [&](const ExchangeOptions& options, const char* name) {
    const auto exchange = Exchange<Pebble>::create(alone, options);
    ASSERT_FALSE(exchange);
    EXPECT_EQ(exchange.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(exchange.error().message, HasSubstr(name));
  };
  expect_refused({.chunk_bytes = 10}, "chunk_bytes");
  expect_refused({.chunk_bytes = std::size_t{1} << 30}, "chunk_bytes");
  expect_refused({.workers = 0}, "workers");
  expect_refused({.patience = std::chrono::milliseconds(0)}, "patience");
}

TEST(ExchangeRefuses, DifferentItemsOnDifferentRanks) {
  const auto ends = ends_of(3, [](Group& group) -> Status {
    if (group.rank() == 1) {
      GODWIT_TRY(auto exchange, Exchange<Cube>::create(group));
    } else {
      GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
    }
    return {};
  });
  expect_all(ends, ErrorCode::type_mismatch, "Cube of 8 bytes");
  expect_all(ends, ErrorCode::type_mismatch, "Pebble of 4 bytes");
}

TEST(ExchangeRefuses, RanksThatAreNotThere) {
  const auto ends = ends_of(3, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
    EXPECT_EQ(exchange.try_emit(Pebble{}, 3), Emitted::bad_rank);  // told to the caller alone
    EXPECT_EQ(exchange.try_emit(Pebble{}, -1), Emitted::bad_rank);
    GODWIT_TRY([[maybe_unused]] const Round fine, exchange.advance());
    if (group.rank() == 2) {
      EXPECT_EQ(exchange.emit(Pebble{}, 17), Emitted::bad_rank);
    }
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    return {};
  });
  expect_all(ends, ErrorCode::invalid_argument, "rank 2 emitted a Pebble to rank 17");
}

TEST(ExchangeRefuses, ABadRankInAKernel) {
  for (const Pace pace : {Pace::rounds, Pace::free}) {
    const auto ends = ends_of(4, [pace](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
      for (std::uint32_t i = 0; i < 100; ++i) exchange.emit(Pebble{i}, static_cast<Rank>(i % 4));
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run(
                     [](const Pebble& ball, auto& out) {
                       out.emit(ball, ball.id == 77 ? -5 : (out.rank() + 1) % out.ranks());
                     },
                     pace));
      return {};
    });
    expect_all(ends, ErrorCode::invalid_argument, "emitted a Pebble to rank -5");
  }
}

TEST(ExchangeRefuses, ItemsBeyondItsMemoryIfTheyMayNotSpill) {
  const ExchangeOptions options{.chunk_bytes = 1024, .queue_bytes = 4096, .spill_bytes = 0};
  const auto ends = ends_of(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group, options));
    std::uint32_t taken = 0;
    while (exchange.try_emit(Pebble{taken}, 1 - group.rank()) == Emitted::ok) ++taken;
    EXPECT_EQ(taken, 4 * 960 / sizeof(Pebble));
    GODWIT_TRY(const Round round, exchange.advance());
    EXPECT_EQ(round.incoming, taken);
    // When they are processed there is room again.
    GODWIT_TRY([[maybe_unused]] const Round empty, exchange.advance());
    GODWIT_TRY([[maybe_unused]] const Round settled, exchange.advance());
    EXPECT_EQ(exchange.try_emit(Pebble{}, 1 - group.rank()), Emitted::ok);
    // emit() instead of try_emit(): loud.
    while (exchange.emit(Pebble{}, 1 - group.rank()) == Emitted::ok) {
    }
    GODWIT_TRY([[maybe_unused]] const Round round2, exchange.advance());
    return {};
  });
  expect_all(ends, ErrorCode::resource_exhausted, "queue_bytes");
}

TEST(ExchangeRefuses, ItemsBeyondItsFile) {
  const ExchangeOptions options{.chunk_bytes = 1024, .queue_bytes = 4096, .spill_bytes = 10'000};
  const auto ends = ends_of(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group, options));
    for (std::uint32_t i = 0; i < 10'000; ++i) exchange.emit(Pebble{i}, 1 - group.rank());
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    return {};
  });
  expect_all(ends, ErrorCode::resource_exhausted, "spill_bytes");
}

TEST(ExchangeRefuses, AFolderThatIsNotThere) {
  const ExchangeOptions options{
      .chunk_bytes = 1024, .queue_bytes = 1024, .spill_folder = "/no/such/folder"};
  const auto ends = ends_of(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group, options));
    for (std::uint32_t i = 0; i < 10'000; ++i) exchange.emit(Pebble{i}, 1 - group.rank());
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    return {};
  });
  expect_all(ends, ErrorCode::resource_exhausted, "/no/such/folder");
}

TEST(ExchangeRefuses, ReducedItemsThatNobodyReduces) {
  const auto ends = ends_of(2, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Reduced<Pebble>>::create(group));
    if (group.rank() == 0) exchange.reduce<Pebble>([](const Pebble&) {});
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    return {};
  });
  expect_all(ends, ErrorCode::invalid_argument, "rank 1 did not say how a Pebble is reduced");
}

TEST(ExchangeEnds, WhenARankLeaves) {
  for (const Pace pace : {Pace::rounds, Pace::free}) {
    const auto ends = ends_of(4, [pace](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
      GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
      if (group.rank() == 3) return fail(ErrorCode::node_lost, "rank 3 left, by itself");
      exchange.emit(Pebble{}, 3);
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run([](const Pebble&, auto&) {}, pace));
      return {};
    });
    expect_all(ends, ErrorCode::node_lost, "rank 3 left");
  }
}

// A rank that has had its part of the last round may go: the others don't need it any more.
TEST(ExchangeEnds, WithoutComplaintWhenAllIsDone) {
  for (int i = 0; i < 200; ++i) {
    const auto ends = ends_of(4, [i](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
      exchange.emit(Pebble{}, (group.rank() + 1) % 4);
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run([](const Pebble&, auto&) {}, i % 2 == 0 ? Pace::free : Pace::rounds));
      return {};
    });
    for (const Status& end : ends) ASSERT_TRUE(end) << end.error().message;
  }
}

TEST(ExchangeEnds, WhenAKernelThrows) {
  for (const std::size_t workers : {1, 3}) {
    std::vector<std::string> thrown(2);
    const auto ends = ends_of(2, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange,
                 Exchange<Pebble>::create(group, {.chunk_bytes = 1024, .workers = workers}));
      for (std::uint32_t i = 0; i < 5000; ++i) exchange.emit(Pebble{i}, 0);
      try {
        GODWIT_TRY([[maybe_unused]] const RunReport report,
                   exchange.run([](const Pebble& ball, auto&) {
                     if (ball.id == 4000) throw std::runtime_error("no way");
                   }));
      } catch (const std::runtime_error& error) {
        return fail(ErrorCode::node_lost, "rank 0 left, it threw: {}", error.what());
      }
      return {};
    });
    expect_all(ends, ErrorCode::node_lost, "rank 0 left");
  }
}

TEST(ExchangeEnds, WhenARankDoesNotCome) {
  const ExchangeOptions options{.patience = std::chrono::milliseconds(100)};
  std::atomic<bool> told = false;
  const auto ends = ends_of(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group, options));
    if (group.rank() == 1) {
      told.wait(false);  // in a kernel of its own that takes too long
    }
    const auto round = exchange.advance();
    told = true;
    told.notify_all();
    GODWIT_CHECK(round);
    return {};
  });
  expect_all(ends, ErrorCode::deadline, "rank 0 waited 100 ms in round 1 for rank 1");
}

TEST(ExchangeEnds, WhenRanksDoDifferentThings) {
  const auto ends = ends_of(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Pebble>::create(group));
    if (group.rank() == 0) {
      GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    } else {
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run([](const Pebble&, auto&) {}));
    }
    return {};
  });
  expect_all(ends, ErrorCode::invalid_argument, "all ranks of an exchange call the same");
}

TEST(RunRanks, TellsWhatWasThrown) {
  const Status done = run_ranks(2, [](Group& group) -> Status {
    if (group.rank() == 1) throw std::runtime_error("broken");
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::app_error);
  EXPECT_THAT(done.error().message, HasSubstr("rank 1 threw: broken"));
}

}  // namespace
}  // namespace godwit::forward
