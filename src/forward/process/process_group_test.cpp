#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/fail.hpp"
#include "forward/process/ranks_for_test.hpp"
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

}  // namespace
}  // namespace godwit::forward
