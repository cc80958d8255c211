// Between processes, too: nothing is lost, doubled or sent astray, whatever the items are like.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "forward/process/ranks_for_test.hpp"
#include "forward/walks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

Status expect_that(bool holds, const char* what) {
  if (holds) return {};
  return fail(ErrorCode::internal, "it does not hold that {}", what);
}

// Runs a walk as one of its ranks, and compares what came here with what should have.
template <std::size_t size>
Status walk_as_rank(Group& group, const Walk& walk, std::uint64_t seeds,
                    const ExchangeOptions& options, Pace pace) {
  using Item = Walker<size>;
  GODWIT_TRY(auto exchange, Exchange<Item>::create(group, options));
  const Rank me = group.rank();
  Traffic seen(walk.ranks);
  std::mutex mutex;
  for (std::uint64_t i = 0; i < walk.seeds_of(me, seeds); ++i) {
    const std::uint64_t id = Walk::seed_id(me, i);
    exchange.emit(Item{.id = id, .step = 0, .from = me}, walk.destination(id, 0, me));
  }
  const auto kernel = [&](const Item& item, auto& out) {
    {
      const std::lock_guard lock(mutex);
      seen.note(item.from, me, item.id, item.step);
    }
    for (std::uint32_t i = 0; i < walk.followers(item.id, item.step); ++i) {
      const std::uint64_t id = Walk::follower_id(item.id, item.step, i);
      out.emit(Item{.id = id, .step = item.step + 1, .from = me},
               walk.destination(id, item.step + 1, me));
    }
  };
  GODWIT_CHECK(exchange.run(kernel, pace));
  Traffic expected(walk.ranks);
  const Traffic all = expected_traffic(walk, seeds);
  for (Rank from = 0; from < walk.ranks; ++from) {
    const auto cell = static_cast<std::size_t>(from * walk.ranks + me);
    expected.counts[cell] = all.counts[cell];
    expected.hashes[cell] = all.hashes[cell];
  }
  return expect_that(seen == expected, "what came is what was sent");
}

using Case = std::tuple<Spread, Pace, Way>;

class ProcessWalks : public testing::TestWithParam<Case> {
 protected:
  template <std::size_t size>
  static void expect_walk(std::uint64_t seeds, const ExchangeOptions& options) {
    const auto [spread, pace, way] = GetParam();
    const Walk walk{.spread = spread, .ranks = 3};
    const Pace paced = pace;
    RankProcesses processes(walk.ranks, way, [&](Group& group) {
      return walk_as_rank<size>(group, walk, seeds, options, paced);
    });
    processes.expect_success();
  }
};
INSTANTIATE_TEST_SUITE_P(Processes, ProcessWalks,
                         testing::Combine(testing::Values(Spread::uniform, Spread::all_to_one,
                                                          Spread::ring, Spread::one_rank_starts),
                                          testing::Values(Pace::rounds, Pace::free),
                                          testing::Values(Way::shm, Way::tcp)),
                         [](const testing::TestParamInfo<Case>& one) {
                           return to_string(std::get<0>(one.param)) +
                                  (std::get<1>(one.param) == Pace::free ? "Free" : "Rounds") +
                                  (std::get<2>(one.param) == Way::shm ? "Shm" : "Tcp");
                         });

TEST_P(ProcessWalks, BringEveryItemToItsRankOnce) {
  expect_walk<64>(2000, {.chunk_bytes = 4096});
}
TEST_P(ProcessWalks, SurviveQueuesOfOneChunk) {
  expect_walk<48>(300, {.chunk_bytes = 1024, .queue_bytes = 1024});
}
TEST_P(ProcessWalks, GoThroughSeveralWorkersOfARank) {
  expect_walk<20>(500, {.chunk_bytes = 1024, .workers = 3});
}
TEST_P(ProcessWalks, ArriveInADeterministicExchangeToo) {
  expect_walk<32>(500, {.chunk_bytes = 1024, .deterministic = true});
}

struct alignas(64) Wide {
  std::uint64_t value = 0;
};
struct Deposit {
  std::uint32_t amount = 0;
};
struct Path {
  std::uint64_t number = 0;
};

class ProcessItems : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, ProcessItems, testing::Values(Way::shm, Way::tcp),
                         [](const auto& one) { return one.param == Way::shm ? "shm" : "tcp"; });

TEST_P(ProcessItems, WalkByOtherSpreadsAndNumbersOfRanks) {
  for (const Spread spread : {Spread::zipf, Spread::self_only, Spread::nobody_starts}) {
    for (const Rank ranks : {1, 2, 5}) {
      for (const Pace pace : {Pace::rounds, Pace::free}) {
        const Walk walk{.spread = spread, .ranks = ranks};
        RankProcesses processes(ranks, GetParam(), [&](Group& group) {
          return walk_as_rank<36>(group, walk, 300, {.chunk_bytes = 1024}, pace);
        });
        processes.expect_success();
      }
    }
  }
}

// From nothing to far beyond a chunk, and beyond what a transport takes in one piece.
constexpr std::size_t kTails[] = {0, 1, 7, 1000, 100'000, 1'000'000};

struct Check {
  std::uint64_t* wide_sum;
  std::uint64_t* bad;
  std::size_t* paths;

  template <class Out>
  void operator()(const Wide& wide, Out&) const {
    *bad += reinterpret_cast<std::uintptr_t>(&wide) % alignof(Wide) != 0 ? 1 : 0;
    *wide_sum += wide.value;
  }
  template <class Out>
  void operator()(const WithTail<Path, double>& path, Out&) const {
    ++*paths;
    *bad += path.tail.size() == kTails[path.head.number] ? 0 : 1;
    for (std::size_t i = 0; i < path.tail.size(); ++i) {
      if (path.tail[i] != static_cast<double>(i + path.head.number)) ++*bad;
    }
  }
};

TEST_P(ProcessItems, OfAllFormsArriveIntact) {
  RankProcesses processes(2, GetParam(), [](Group& group) -> Status {
    using Mixed = Exchange<Wide, Reduced<Deposit>, Tailed<Path, double>>;
    GODWIT_TRY(auto exchange, Mixed::create(group, {.chunk_bytes = 2048}));
    std::uint64_t deposits = 0;
    exchange.reduce<Deposit>([&](const Deposit& deposit) { deposits += deposit.amount; });
    const Rank other = 1 - group.rank();
    for (std::uint64_t i = 0; i < 1000; ++i) {
      exchange.emit(Wide{.value = i}, other, static_cast<Priority>(i % kPriorities));
      exchange.emit(Deposit{.amount = 2}, other);
    }
    for (std::size_t i = 0; i < std::size(kTails); ++i) {
      std::vector<double> tail(kTails[i]);
      std::iota(tail.begin(), tail.end(), static_cast<double>(i));
      exchange.emit(Path{i}, std::span<const double>(tail), other);
    }
    std::uint64_t wide_sum = 0;
    std::uint64_t bad = 0;
    std::size_t paths = 0;
    GODWIT_CHECK(exchange.run(Check{&wide_sum, &bad, &paths}));
    GODWIT_CHECK(expect_that(wide_sum == 999U * 1000 / 2, "plain items came"));
    GODWIT_CHECK(expect_that(deposits == 2000, "reduced items were folded"));
    GODWIT_CHECK(expect_that(paths == std::size(kTails), "items with tails came"));
    return expect_that(bad == 0, "items were intact and aligned");
  });
  processes.expect_success();
}

TEST_P(ProcessItems, ArriveByPriority) {
  RankProcesses processes(3, GetParam(), [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Wide>::create(group, {.chunk_bytes = 1024}));
    constexpr std::uint64_t kItems = 1000;
    for (std::uint64_t i = 0; i < kItems; ++i) {
      const std::uint64_t priority = i % kPriorities;
      exchange.emit(Wide{.value = priority}, 2, static_cast<Priority>(priority));
    }
    GODWIT_CHECK(exchange.advance());
    std::vector<std::uint64_t> order;
    for (const Wide& wide : exchange.incoming<Wide>()) order.push_back(wide.value);
    GODWIT_CHECK(expect_that(order.size() == (group.rank() == 2 ? 3 * kItems : 0), "all came"));
    return expect_that(std::is_sorted(order.rbegin(), order.rend()), "urgent ones are first");
  });
  processes.expect_success();
}

// The sender is gone, and its memory is still read.
TEST_P(ProcessItems, StayUntilTheyAreProcessedAlsoIfTheirSenderLeaves) {
  RankProcesses processes(2, GetParam(), [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Wide>::create(group));
    for (std::uint64_t i = 0; i < 1000 && group.rank() == 0; ++i) exchange.emit(Wide{i}, 1);
    GODWIT_CHECK(exchange.advance());
    if (group.rank() == 0) return {};
    // Its leaving ends the next round, which this rank tries although it is alone.
    std::uint64_t sum = 0;
    const auto left = Exchange<Wide>::create(group);
    GODWIT_CHECK(expect_that(!left, "rank 0 has left"));
    for (const Wide& wide : exchange.incoming<Wide>()) sum += wide.value;
    return expect_that(sum == 999U * 1000 / 2, "all items are there");
  });
  processes.expect_success();
}

TEST_P(ProcessItems, OfDifferentTypesAreRefusedBeforeAnythingMoves) {
  RankProcesses processes(2, GetParam(), [](Group& group) -> Status {
    ErrorCode code = ErrorCode::none;
    if (group.rank() == 0) {
      code = Exchange<Wide>::create(group).error().code;
    } else {
      code = Exchange<Deposit>::create(group).error().code;
    }
    return expect_that(code == ErrorCode::type_mismatch, "they do not match");
  });
  processes.expect_success();
}

// All work is rank 1's. Until it hears that another rank has processed some, it sends its own back
// to where it comes from: so however the ranks are scheduled, the run does not end before work was
// taken over, from its source through one process to another.
struct TakenOver {
  enum : std::uint64_t { work, sent_back, news };

  Rank rank;
  std::uint64_t* processed;
  bool* is_known;

  template <class Out>
  void operator()(const Wide& wide, Out& out) const {
    if (wide.value == news) {
      if (rank == 1) *is_known = true;
      if (rank != 1) out.emit(wide, 1, Priority::urgent);  // taken over, too
    } else if (wide.value == sent_back) {
      out.emit(Wide{work}, 1);
    } else if (rank == 1 && !*is_known) {
      out.emit(Wide{sent_back}, 0);
    } else {
      ++*processed;
      if (rank != 1 && !std::exchange(*is_known, true)) out.emit(Wide{news}, 1, Priority::urgent);
    }
  }
};

TEST_P(ProcessItems, AreTakenOverByRanksThatHaveNothingToDo) {
  RankProcesses processes(3, GetParam(), [](Group& group) -> Status {
    GODWIT_TRY(auto exchange,
               Exchange<Wide>::create(group, {.chunk_bytes = 1024, .shares_work = 1}));
    constexpr std::uint64_t kItems = 20'000;
    for (std::uint64_t i = 0; i < kItems && group.rank() == 0; ++i) {
      exchange.emit(Wide{TakenOver::work}, 1);
    }
    std::uint64_t processed = 0;
    bool is_known = false;
    GODWIT_CHECK(exchange.run(TakenOver{group.rank(), &processed, &is_known}));
    struct Sum {
      std::uint64_t processed;
      std::uint64_t taken_over;
    };
    GODWIT_TRY(auto sums, Exchange<Sum>::create(group));
    const std::uint64_t taken_over = exchange.status().taken_over;
    for (Rank rank = 0; rank < group.ranks(); ++rank) sums.emit(Sum{processed, taken_over}, rank);
    GODWIT_CHECK(sums.advance());
    Sum total{};
    for (const Sum& one : sums.template incoming<Sum>()) {
      total.processed += one.processed;
      total.taken_over += one.taken_over;
    }
    GODWIT_CHECK(expect_that(total.taken_over > 0, "some items were taken over"));
    return expect_that(total.processed == kItems, "every item was processed once");
  });
  processes.expect_success();
}

}  // namespace
}  // namespace godwit::forward
