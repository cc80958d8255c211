#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "forward/process/ranks_for_test.hpp"
#include "godwit/block_map.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

struct Wanderer {
  std::uint64_t id = 0;
  std::uint32_t hops = 0;
  std::uint32_t unused = 0;
};

// Goes on to a rank that its number and hops choose, until it has no hops left.
struct Wander {
  template <class Out>
  void operator()(const Wanderer& walker, Out& out) const {
    if (walker.hops == 0) return;
    const Wanderer next{.id = walker.id * 6364136223846793005U + 1, .hops = walker.hops - 1};
    out.emit(next, static_cast<Rank>((next.id >> 33) % static_cast<std::uint64_t>(out.ranks())));
  }
};

class WaysTest : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, WaysTest, testing::Values(Way::shm, Way::tcp),
                         [](const auto& one) { return one.param == Way::shm ? "shm" : "tcp"; });

Status expect_equal(std::uint64_t got, std::uint64_t wanted, const char* what) {
  if (got == wanted) return {};
  return fail(ErrorCode::internal, "{}: {} instead of {}", what, got, wanted);
}

TEST_P(WaysTest, TwoProcessesExchangeItems) {
  RankProcesses processes(2, GetParam(), [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Wanderer>::create(group));
    const Rank other = 1 - group.rank();
    for (std::uint64_t i = 0; i < 10'000; ++i) exchange.emit(Wanderer{.id = i}, other);
    GODWIT_TRY(const Round round, exchange.advance());
    GODWIT_CHECK(expect_equal(round.incoming, 10'000, "incoming"));
    std::uint64_t sum = 0;
    for (const Wanderer& walker : exchange.incoming<Wanderer>()) sum += walker.id;
    GODWIT_CHECK(expect_equal(sum, 9'999U * 10'000U / 2, "sum"));
    GODWIT_TRY(const Round last, exchange.advance());
    return expect_equal(last.alive, 0, "alive");
  });
  processes.expect_success();
}

TEST_P(WaysTest, WalkersWanderThroughFourProcessesUntilNoneIsLeft) {
  RankProcesses processes(4, GetParam(), [](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Wanderer>::create(group, {.chunk_bytes = 1024}));
    constexpr std::uint32_t kHops = 30;
    constexpr std::uint64_t kWalkers = 2'000;
    for (std::uint64_t i = 0; i < kWalkers; ++i) {
      exchange.emit(Wanderer{.id = i + 1, .hops = kHops}, group.rank());
    }
    GODWIT_TRY(const RunReport report, exchange.run(Wander{}));
    // All ranks together have processed every step of every walker.
    struct Sum {
      std::uint64_t processed;
    };
    GODWIT_TRY(auto sums, Exchange<Sum>::create(group));
    for (Rank rank = 0; rank < group.ranks(); ++rank) sums.emit(Sum{report.processed}, rank);
    GODWIT_CHECK(sums.advance());
    std::uint64_t total = 0;
    for (const Sum& one : sums.template incoming<Sum>()) total += one.processed;
    return expect_equal(total, 4 * kWalkers * (kHops + 1), "processed");
  });
  processes.expect_success();
}

// Visitors of the blocks of a domain, most of them of the first few; blocks follow them between
// phases, with what visitors have left there.
constexpr std::uint32_t kBlocks = 24;
constexpr std::uint32_t kPhases = 3;
constexpr std::uint32_t kStepsOfAPhase = 4;
constexpr std::uint64_t kVisitors = 200;

struct Visitor {
  std::uint64_t id = 0;
  std::uint32_t step = 0;

  [[nodiscard]] std::uint32_t block() const {
    const std::uint64_t random = mix64(id * 31 + step);
    return static_cast<std::uint32_t>(std::min(random % kBlocks, (random >> 32U) % kBlocks));
  }
  [[nodiscard]] std::uint64_t gift() const { return mix64(id + step); }
  [[nodiscard]] bool is_last_of_phase() const { return (step + 1) % kStepsOfAPhase == 0; }
};

std::vector<std::uint64_t> expected_gifts(Rank ranks) {
  std::vector<std::uint64_t> gifts(kBlocks);
  for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(ranks) * kVisitors; ++id) {
    for (std::uint32_t step = 0; step < kPhases * kStepsOfAPhase; ++step) {
      const Visitor visitor{id, step};
      gifts[visitor.block()] += visitor.gift();
    }
  }
  return gifts;
}

// What a rank holds of the domain.
struct Domain {
  BlockMap map;
  std::map<std::uint32_t, std::uint64_t> gifts;  // of each block that is here
  std::vector<std::uint64_t> loads = std::vector<std::uint64_t>(kBlocks);
  std::uint64_t strays = 0;
  std::size_t moves = 0;

  void visit(const Visitor& visitor) {
    const auto block = gifts.find(visitor.block());
    strays += block == gifts.end() ? 1 : 0;
    if (block != gifts.end()) block->second += visitor.gift();
    ++loads[visitor.block()];
  }
  Status follow(Group& group) {
    GODWIT_TRY(const auto all, sum_over_ranks(group, loads));
    GODWIT_TRY(const auto plan, map.plan(all, {.replicates = false}));
    GODWIT_CHECK(move_blocks(
        group, map, plan,
        [&](std::uint32_t block) { return std::as_bytes(std::span(&gifts.at(block), 1)); },
        [&](std::uint32_t block, std::span<const std::byte> bytes) {
          std::memcpy(&gifts[block], bytes.data(), sizeof(std::uint64_t));
        }));
    std::erase_if(gifts, [&](const auto& one) { return !map.holds(group.rank(), one.first); });
    moves += plan.size();
    loads.assign(kBlocks, 0);
    return {};
  }
};

Status visit_blocks(Group& group) {
  GODWIT_TRY(BlockMap shares, BlockMap::shares(kBlocks, group.ranks()));
  Domain domain{.map = std::move(shares), .gifts = {}};
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    if (domain.map.holds(group.rank(), block)) domain.gifts[block] = 0;
  }
  GODWIT_TRY(auto exchange, Exchange<Visitor>::create(group));
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    for (std::uint64_t i = 0; i < kVisitors; ++i) {
      const Visitor visitor{static_cast<std::uint64_t>(group.rank()) * kVisitors + i,
                            phase * kStepsOfAPhase};
      exchange.emit(visitor, domain.map.route(visitor.block(), group.rank()));
    }
    GODWIT_CHECK(exchange.run([&](const Visitor& visitor, auto& out) {
      domain.visit(visitor);
      if (visitor.is_last_of_phase()) return;
      const Visitor next{visitor.id, visitor.step + 1};
      out.emit(next, domain.map.route(next.block(), out.rank()));
    }));
    GODWIT_CHECK(domain.follow(group));
  }
  std::vector<std::uint64_t> left(kBlocks);
  for (const auto& [block, gifts] : domain.gifts) left[block] = gifts;
  GODWIT_TRY(const auto all, sum_over_ranks(group, left));
  if (domain.strays == 0 && domain.moves > 0 && all == expected_gifts(group.ranks())) return {};
  return fail(ErrorCode::internal, "{} strays, {} moves, gifts {}", domain.strays, domain.moves,
              all == expected_gifts(group.ranks()) ? "as expected" : "lost");
}

TEST(BlocksOfProcesses, FollowTheItemsThatVisitThem) {
  for (const Way way : {Way::shm, Way::tcp}) {
    RankProcesses processes(3, way, visit_blocks);
    processes.expect_success();
  }
  const Status on_threads = run_ranks(3, visit_blocks);
  EXPECT_TRUE(on_threads) << on_threads.error().message;
}

}  // namespace
}  // namespace godwit::forward
