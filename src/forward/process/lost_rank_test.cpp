// A rank that is killed ends the exchange on all others, soon and by name.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "base/sanitizers.hpp"
#include "forward/process/ranks_for_test.hpp"
#include "forward/transport_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

constexpr Rank kRanks = 4;
constexpr Rank kVictim = 2;

struct Restless {
  std::uint64_t state = 0;
};

// Ranks tell the test that they are at work.
class StartSignal {
 public:
  StartSignal() { EXPECT_EQ(::pipe(ends_), 0); }
  StartSignal(const StartSignal&) = delete;
  StartSignal& operator=(const StartSignal&) = delete;
  ~StartSignal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void give() const { (void)!::write(ends_[1], "s", 1); }
  void await(Rank ranks) const {
    char byte = 0;
    for (Rank rank = 0; rank < ranks; ++rank) ASSERT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

// Never comes to an end.
struct Roam {
  const StartSignal* signal;
  mutable std::uint64_t steps = 0;

  template <class Out>
  void operator()(const Restless& one, Out& out) const {
    if (++steps == 20'000) signal->give();
    const Restless next{one.state * 6364136223846793005U + 1442695040888963407U};
    out.emit(next, static_cast<Rank>((next.state >> 33) % kRanks));
  }
};

bool names_victim(const Error& error) {
  return error.message.find(fmt::format("rank {}", kVictim)) != std::string::npos;
}

// What a rank should see when the victim is gone.
Status expect_loss(const Error& error) {
  if (error.code == ErrorCode::node_lost && names_victim(error)) return {};
  return tl::unexpected(error);
}

Status roam_by_rounds(Exchange<Restless>& exchange, const Roam& kernel) {
  for (;;) {
    const auto round = exchange.advance();
    if (!round) return expect_loss(round.error());
    exchange.process(kernel);
  }
}

class LostRank : public testing::TestWithParam<Way> {
 protected:
  static void expect_end(const RankProcesses::Body& body, const StartSignal& signal) {
    RankProcesses processes(kRanks, GetParam(), body);
    signal.await(kRanks);
    const auto killed_at = std::chrono::steady_clock::now();
    processes.kill(kVictim);
    for (Rank rank = 0; rank < kRanks; ++rank) {
      if (rank == kVictim) continue;
      EXPECT_EQ(processes.wait(rank), 0) << "rank " << rank;
    }
    const auto took = std::chrono::steady_clock::now() - killed_at;
    EXPECT_LT(took, std::chrono::seconds(kSanitized ? 10 : 2));
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, LostRank, testing::Values(Way::shm, Way::tcp),
                         [](const auto& one) { return one.param == Way::shm ? "shm" : "tcp"; });

TEST_P(LostRank, EndsAFreeRunOnAllOthers) {
  const StartSignal signal;
  expect_end(
      [&](Group& group) -> Status {
        GODWIT_TRY(auto exchange, Exchange<Restless>::create(group));
        for (std::uint64_t i = 0; i < 1'000; ++i) exchange.emit(Restless{i}, group.rank());
        const auto report = exchange.run(Roam{&signal});
        return report ? fail(ErrorCode::internal, "the run came to an end")
                      : expect_loss(report.error());
      },
      signal);
}

TEST_P(LostRank, EndsRoundsOnAllOthers) {
  const StartSignal signal;
  expect_end(
      [&](Group& group) -> Status {
        GODWIT_TRY(auto exchange, Exchange<Restless>::create(group));
        for (std::uint64_t i = 0; i < 1'000; ++i) exchange.emit(Restless{i}, group.rank());
        return roam_by_rounds(exchange, Roam{&signal});
      },
      signal);
}

TEST_P(LostRank, IsToldToThoseWhoMakeAnExchangeLater) {
  const StartSignal signal;
  expect_end(
      [&](Group& group) -> Status {
        {
          GODWIT_TRY(auto exchange, Exchange<Restless>::create(group));
          GODWIT_CHECK(exchange.advance());
        }
        signal.give();
        if (group.rank() == kVictim) ::pause();
        const auto exchange = Exchange<Restless>::create(group);
        return exchange ? fail(ErrorCode::internal, "an exchange was made without all ranks")
                        : expect_loss(exchange.error());
      },
      signal);
}

TEST_P(LostRank, MayHaveLeftInPeace) {
  RankProcesses processes(3, GetParam(), [](Group& group) -> Status {
    {
      GODWIT_TRY(auto exchange, Exchange<Restless>::create(group));
      GODWIT_CHECK(exchange.advance());
    }
    if (group.rank() == kVictim) return {};
    const auto exchange = Exchange<Restless>::create(group);
    return exchange ? fail(ErrorCode::internal, "an exchange was made without all ranks")
                    : expect_loss(exchange.error());
  });
  processes.expect_success();
}

Status roam_towards_victim(Group& group, const Roam& kernel) {
  GODWIT_TRY(auto exchange, Exchange<Restless>::create(group));
  for (std::uint64_t i = 0; i < 1'000; ++i) exchange.emit(Restless{i}, kVictim);
  GODWIT_CHECK(exchange.run(kernel));
  return fail(ErrorCode::internal, "the run came to an end");
}

// What is on its way to a rank that leaves trips nobody up, least of all that rank.
TEST_P(LostRank, MayLeaveWhileOthersSendToIt) {
  for (int i = 0; i < 10; ++i) {
    const StartSignal nobody_waits;
    RankProcesses processes(kRanks, GetParam(), [&](Group& group) -> Status {
      if (group.rank() == kVictim) {
        GODWIT_CHECK(Exchange<Restless>::create(group));
        return {};
      }
      const Status told = roam_towards_victim(group, Roam{&nobody_waits});
      return names_victim(told.error()) ? Status() : told;
    });
    processes.expect_success();
  }
}

// Runs a transport, or goes on with one; ranks say at every checkpoint that they are about to write
// it, and leave what they have summed up in files.
RankProcesses::Body transport_in(const TestFolder& folder, const std::string& name,
                                 std::uint64_t save_every, const StartSignal& signal) {
  return [&folder, name, save_every, &signal](Group& group) -> Status {
    TransportOptions options{.every = save_every, .steps = 12};
    if (save_every > 0) options.folder = (folder / name).string();
    options.at = [&signal](TransportOptions::Moment now) {
      if (now == TransportOptions::Moment::save) signal.give();
    };
    const auto tally = transport(group, options);
    const std::string result = fmt::format("{}-{}.txt", name, group.rank());
    if (tally) std::ofstream(folder / result) << tally->text();
    if (tally || tally.error().code == ErrorCode::node_lost) return {};
    return tl::unexpected(tally.error());
  };
}

std::vector<std::string> results_of(const TestFolder& folder, const std::string& name) {
  std::vector<std::string> results;
  for (Rank rank = 0; rank < 3; ++rank) {
    std::ifstream file(folder / fmt::format("{}-{}.txt", name, rank));
    std::getline(file, results.emplace_back());
  }
  return results;
}

// Rank 1 gets a few milliseconds of each tenth of a second, so that what rank 0 sends it takes
// longer than a rank waits for one that takes nothing.
TEST_P(LostRank, StaysUntilASlowOneHasTakenWhatItSent) {
  using Load = std::array<std::uint64_t, 32>;
  constexpr std::uint64_t kLoads = (std::uint64_t{256} << 20) / sizeof(Load);
  const StartSignal signal;
  RankProcesses ranks(2, GetParam(), [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Load>::create(group, {.queue_bytes = kLoads * 300}));
    for (std::uint64_t i = 0; group.rank() == 0 && i < kLoads; ++i) exchange.emit(Load{i}, 1);
    signal.give();
    GODWIT_TRY(const Round round, exchange.advance());
    if (round.incoming == (group.rank() == 1 ? kLoads : 0)) return {};
    return fail(ErrorCode::internal, "{} items came", round.incoming);
  });
  signal.await(2);
  const auto began = std::chrono::steady_clock::now();
  const auto slow_for = std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() - began < slow_for) {
    ranks.signal(1, SIGSTOP);
    ::poll(nullptr, 0, 100);
    ranks.signal(1, SIGCONT);
    ::poll(nullptr, 0, 3);
  }
  ranks.expect_success();
}

TEST_P(LostRank, IsNoLossToWhoeverGoesOnFromTheLastCheckpoint) {
  const TestFolder folder;
  const StartSignal signal;
  RankProcesses(3, GetParam(), transport_in(folder, "whole", 0, signal)).expect_success();
  const auto undisturbed = results_of(folder, "whole");
  ASSERT_FALSE(undisturbed[2].empty());
  // It is killed while checkpoints are written, one after another, at whichever point that is.
  for (const Rank seed : {1, 2, 3}) {
    const std::string name = fmt::format("seed{}", seed);
    const StartSignal saving;
    {
      RankProcesses processes(3, GetParam(), transport_in(folder, name, 1, saving));
      saving.await(11 * seed);
      processes.kill(seed % 3);
      for (const Rank after : {1, 2}) EXPECT_EQ(processes.wait((seed + after) % 3), 0) << name;
    }
    EXPECT_EQ(results_of(folder, name)[0], "") << "it had come to its end";
    RankProcesses(3, GetParam(), transport_in(folder, name, 7, saving)).expect_success();
    EXPECT_EQ(results_of(folder, name), undisturbed) << name;
  }
}

}  // namespace
}  // namespace godwit::forward
