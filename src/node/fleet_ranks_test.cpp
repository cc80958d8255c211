// Nodes of a fleet as the ranks of an exchange.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"
#include "godwit/exchange.hpp"
#include "godwit/fleet_exchange.hpp"
#include "node/fleet_for_test.hpp"
#include "node/walkers_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Walk = Seen(RankOf<Walker>);
using Roam = void(RankOf<Walker>);
using FailAt = void(RankOf<Walker>, std::uint32_t, std::int32_t);

constexpr std::uint64_t kWalkers = 3000;
constexpr std::uint32_t kSteps = 40;
// Small chunks, so that there are many.
const FleetExchangeOptions kSmallChunks{.exchange = {.chunk_bytes = 1024}};

template <class F>
Function<F> ranks_function(const char* name) {
  auto found = kernels().function<F>(name);
  if (!found) ADD_FAILURE() << found.error().message;
  return *found;
}

Walker walker(std::uint64_t id) {
  return {.id = id, .state = next_state(id), .steps = kSteps, .weight = 1};
}

template <class Ranks>
void set_out(Ranks& ranks) {
  for (std::uint64_t id = 0; id < kWalkers; ++id) {
    EXPECT_EQ(ranks.emit(walker(id), static_cast<Rank>(id) % ranks.ranks()), Emitted::ok);
  }
}

// What the same kernel sees on threads, by rank; the last is in the place of the program.
std::vector<Seen> walk_on_threads(Rank nodes, const ExchangeOptions& options) {
  std::vector<Seen> seen(static_cast<std::size_t>(nodes) + 1);
  struct Out {
    Exchange<Walker>::Out& inner;
    void emit(const Walker& one, Rank to) { inner.emit(one, to); }
    [[nodiscard]] Rank ranks() const { return inner.ranks() - 1; }
    [[nodiscard]] Rank client() const { return inner.ranks() - 1; }
  };
  const Status done = run_ranks(nodes + 1, [&](Group& group) -> Status {
    auto exchange = Exchange<Walker>::create(group, options);
    if (!exchange) return tl::unexpected(exchange.error());
    if (group.rank() == nodes) {
      for (std::uint64_t id = 0; id < kWalkers; ++id) {
        exchange->emit(walker(id), static_cast<Rank>(id) % nodes);
      }
    }
    Seen& mine = seen[static_cast<std::size_t>(group.rank())];
    const auto report = exchange->run([&](const Walker& one, auto& out) {
      mine.add(one);
      Out to{out};
      if (group.rank() != nodes) step(one, to);
    });
    if (!report) return tl::unexpected(report.error());
    mine.processed = report->processed;
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return seen;
}

class FleetRanksTest : public testing::TestWithParam<LocalTransport> {
 protected:
  static Fleet fleet(std::size_t nodes) {
    LocalOptions options;
    options.transport = GetParam();
    return local(nodes, std::move(options));
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, FleetRanksTest,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         [](const auto& one) {
                           return one.param == LocalTransport::shm ? "shm" : "tcp";
                         });

TEST_P(FleetRanksTest, NoWalkerIsLostOrDoubled) {
  const Fleet nodes = fleet(3);
  const auto walk = ranks_function<Walk>("walk");
  for (const Way way : {Way::automatic, Way::tcp}) {
    auto options = kSmallChunks;
    options.way = way;
    auto ranks = open_ranks(nodes.nodes(), walk, options);
    ASSERT_TRUE(ranks) << ranks.error().message;
    EXPECT_EQ(ranks->ranks(), 3);
    set_out(*ranks);
    std::set<std::uint64_t> done;
    const auto report = ranks->run([&](const Walker& one) { done.insert(one.id); });
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->processed, kWalkers);
    EXPECT_EQ(done.size(), kWalkers);
    std::uint64_t steps = 0;
    for (const Seen& seen : report->results) steps += seen.processed;
    EXPECT_EQ(steps, kWalkers * (kSteps + 1));
    EXPECT_EQ(ranks->status().emitted, kWalkers);
  }
}

TEST_P(FleetRanksTest, SeeWhatThreadsSeeToTheBit) {
  const Fleet nodes = fleet(3);
  FleetExchangeOptions options = kSmallChunks;
  options.exchange.deterministic = true;
  auto ranks = open_ranks(nodes.nodes(), ranks_function<Walk>("walk"), options);
  ASSERT_TRUE(ranks) << ranks.error().message;
  set_out(*ranks);
  Seen mine;
  const auto report = ranks->run([&](const Walker& one) { mine.add(one); });
  ASSERT_TRUE(report) << report.error().message;
  mine.processed = report->processed;
  std::vector<Seen> seen = report->results;
  seen.push_back(mine);
  EXPECT_EQ(seen, walk_on_threads(3, options.exchange));
  EXPECT_EQ(report->rounds, kSteps + 3);
}

TEST_P(FleetRanksTest, HearOfEachOthersFailures) {
  Fleet nodes = fleet(3);
  const auto fail_at = ranks_function<FailAt>("fail_at");
  struct Case {
    std::uint32_t how;
    ErrorCode code;
    const char* text;
  };
  for (const Case& one :
       {Case{kThrows, ErrorCode::app_error, "rank 1, on node n1, failed: the walker fell"},
        Case{kMissesRegion, ErrorCode::not_found, "no such region"},
        Case{kEmitsAstray, ErrorCode::invalid_argument, "to rank 77"},
        Case{kThrowsEarly, ErrorCode::app_error, "no such map"},
        Case{kReturnsEarly, ErrorCode::app_error, "returned without being rank 1"},
        Case{kDies, ErrorCode::node_lost, "n1"}}) {
    const auto begun = std::chrono::steady_clock::now();
    auto ranks = open_ranks(nodes.nodes(), fail_at, kSmallChunks, one.how, 1);
    Error why = ranks ? Error{ErrorCode::none, "it ended well"} : ranks.error();
    if (ranks) {
      set_out(*ranks);
      const auto report = ranks->run([](const Walker&) {});
      if (!report) why = report.error();
    }
    EXPECT_EQ(why.code, one.code) << why.message;
    EXPECT_NE(why.message.find(one.text), std::string::npos) << why.message;
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(kSanitized ? 10 : 2)) << one.text;
  }
}

TEST_P(FleetRanksTest, EndWhenANodeIsKilled) {
  Fleet nodes = fleet(4);
  auto ranks = open_ranks(nodes.nodes(), ranks_function<Roam>("roam"), kSmallChunks);
  ASSERT_TRUE(ranks) << ranks.error().message;
  set_out(*ranks);
  std::chrono::steady_clock::time_point killed;
  int at_work = 0;
  const auto report = ranks->run([&](const Walker&) {
    if (++at_work != 4) return;
    killed = std::chrono::steady_clock::now();
    EXPECT_TRUE(nodes.kill(nodes.node(2)));
  });
  const auto took = std::chrono::steady_clock::now() - killed;
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::node_lost);
  EXPECT_NE(report.error().message.find("n2"), std::string::npos) << report.error().message;
  EXPECT_LT(took, seconds(kSanitized ? 10 : 2));
}

// What nodes have before an exchange, they have after it, however it ended.
TEST_P(FleetRanksTest, LeaveNothingBehindInNodes) {
  const Fleet nodes = fleet(2);
  const auto belongings = ranks_function<std::array<std::uint64_t, 2>()>("belongings");
  const auto walk = ranks_function<Walk>("walk");
  const auto use = [&](bool ends_well) {
    auto ranks = open_ranks(nodes.nodes(), walk, kSmallChunks);
    ASSERT_TRUE(ranks) << ranks.error().message;
    set_out(*ranks);
    if (!ends_well) return;
    const auto report = ranks->run([](const Walker&) {});
    ASSERT_TRUE(report) << report.error().message;
  };
  const auto count = [&] { return value_of(belongings.on(nodes.node(0))().get()); };
  use(true);
  use(false);
  std::array<std::uint64_t, 2> before = count();
  EXPECT_TRUE(eventually([&] { return std::exchange(before, count()) == before; }));
  for (int i = 0; i < 3; ++i) {
    use(true);
    use(false);
  }
  EXPECT_TRUE(eventually([&] { return count()[0] == 0 && count()[1] <= before[1]; }))
      << count()[0] << " threads; " << count()[1] << " descriptors, were " << before[1];
}

TEST(FleetRanks, SeveralExchangesAtATimeAndTwoRanksOnANode) {
  const Fleet nodes = local(2);
  const auto walk = ranks_function<std::uint64_t(RankOf<Walker>)>("walk_chunks");
  std::vector<NodeHandle> twice = nodes.nodes();
  twice.push_back(nodes.node(0));
  FleetExchangeOptions options = kSmallChunks;
  options.exchange.workers = 2;
  std::vector<FleetExchange<Walker, std::uint64_t>> all;
  for (int i = 0; i < 3; ++i) {
    auto ranks = open_ranks(twice, walk, options);
    ASSERT_TRUE(ranks) << ranks.error().message;
    set_out(*ranks);
    all.push_back(*std::move(ranks));
  }
  for (auto& ranks : all) {
    const auto report = ranks.run([](const Walker&) {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->processed, kWalkers);
    EXPECT_EQ(report->results[0] + report->results[1] + report->results[2],
              kWalkers * (kSteps + 1));
  }
}

TEST(FleetRanks, AHandlerMayEmitMoreAndMayThrow) {
  const Fleet nodes = local(2);
  const auto walk = ranks_function<Walk>("walk");
  auto ranks = open_ranks(nodes.nodes(), walk);
  ASSERT_TRUE(ranks) << ranks.error().message;
  ranks->emit(walker(1), 0);
  const auto report = ranks->run([&](const Walker& done, auto& out) {
    if (done.id < 5) out.emit(walker(done.id + 1), 1);
  });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->processed, 5U);
  EXPECT_EQ(ranks->emit(walker(1), 0), Emitted::full);
  EXPECT_EQ(ranks->run([](const Walker&) {}).error().code, ErrorCode::invalid_argument);

  auto others = open_ranks(nodes.nodes(), walk);
  ASSERT_TRUE(others) << others.error().message;
  others->emit(walker(1), 0);
  EXPECT_THROW((void)others->run([](const Walker&) { throw std::runtime_error("enough"); }),
               std::runtime_error);
}

// A program of its own, which opens ranks at a fleet that it is told of, and never comes to an end.
class Program {
 public:
  explicit Program(std::uint32_t how) {
    EXPECT_EQ(::pipe(pipe_.data()), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::array<char, 256> address{};
    if (::read(pipe_[0], address.data(), address.size() - 1) <= 0) ::_exit(1);
    const auto fleet = Fleet::join(address.data());
    if (!fleet) ::_exit(1);
    auto ranks =
        open_ranks(fleet->nodes(), ranks_function<FailAt>("fail_at"), kSmallChunks, how, 1);
    if (ranks) ranks->emit(walker(1), 0);
    if (ranks) (void)ranks->run([](const Walker&) {});
    ::_exit(0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    kill();
    for (const int end : pipe_) ::close(end);
  }
  void tell(const std::string& address) const {
    EXPECT_EQ(::write(pipe_[1], address.data(), address.size()),
              static_cast<ssize_t>(address.size()));
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  std::array<int, 2> pipe_{};
  pid_t pid_ = -1;
};

// Nodes hear that the program is gone, whether the ranks have met or not.
TEST(FleetRanks, EndWhenTheProgramIsKilled) {
  for (const std::uint32_t how : {kRoams, kDawdles}) {
    Program program(how);  // before this process has threads
    const Fleet nodes = local(2);
    const auto belongings = ranks_function<std::array<std::uint64_t, 2>()>("belongings");
    const auto threads = [&] { return value_of(belongings.on(nodes.node(0))().get())[0]; };
    program.tell(nodes.describe().front().addresses.front());
    EXPECT_TRUE(eventually([&] { return threads() > 0; })) << "the ranks did not begin";
    program.kill();
    EXPECT_TRUE(eventually([&] { return threads() == 0; }, seconds(kSanitized ? 10 : 2)));
  }
}

TEST(FleetRanks, RefuseWhatCannotBe) {
  const Fleet nodes = local(1);
  const auto walk = ranks_function<Walk>("walk");
  const auto code_of = [&](const FleetExchangeOptions& options) {
    const auto ranks = open_ranks(nodes.nodes(), walk, options);
    return ranks ? ErrorCode::none : ranks.error().code;
  };
  EXPECT_EQ(open_ranks({}, walk).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({.exchange = {.chunk_bytes = 1}}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({.exchange = {.workers = 1000}}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({.exchange = {.shares_work = 1}}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({.deadline = milliseconds(0)}), ErrorCode::invalid_argument);
  // The type of the items is a part of the function's signature.
  const auto other = kernels().function<Seen(RankOf<Point>)>("walk");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::type_mismatch);
}

TEST(FleetRanks, EndAtTheirDeadline) {
  const Fleet nodes = local(2);
  auto ranks = open_ranks(nodes.nodes(), ranks_function<Roam>("roam"),
                          {.deadline = milliseconds(kSanitized ? 3000 : 500)});
  ASSERT_TRUE(ranks) << ranks.error().message;
  ranks->emit(walker(1), 0);
  const auto report = ranks->run([](const Walker&) {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::deadline) << report.error().message;
}

}  // namespace
}  // namespace godwit::node
