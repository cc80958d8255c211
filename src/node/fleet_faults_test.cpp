// Nodes that die, hang and come back, and clients that are many.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "code/bundle/bundle.hpp"
#include "node/fleet_for_test.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Another client of the fleet, which knows the node of that name.
Fleet join(const Fleet& fleet, std::string_view name) {
  auto client = Fleet::join(fleet.describe().at(0).addresses.at(0));
  if (!client) ADD_FAILURE() << client.error().message;
  EXPECT_TRUE(eventually([&] { return client->find(name).has_value(); }));
  return *std::move(client);
}

// How the calls of many clients went.
struct Tally {
  std::atomic<std::uint64_t> ok{0}, lost{0}, other{0}, late{0}, idempotent_failed{0};

  void count(const Outcome<std::uint64_t>& outcome, std::uint64_t expected, bool idempotent,
             steady_clock::duration took) {
    if (outcome) {
      ++(*outcome == expected ? ok : other);
    } else if (outcome.error().ending == Ending::node_lost) {
      ++(idempotent ? idempotent_failed : lost);
    } else {
      ++other;
    }
    // A plain call ends within 2 s of the node's death; an idempotent one may wait for it.
    if (!idempotent && took > seconds(2)) ++late;
  }
};

// Eight clients call without pause while the node is killed and comes back.
void kill_under_load(LocalTransport transport) {
  LocalOptions options;
  options.transport = transport;
  Fleet fleet = local(2, options);
  const Bundle code = kernels();
  const auto plain = code.function<Add>("add_on_pool").value();
  const auto again = code.function<Add>("add_again").value();
  const NodeHandle victim = fleet.node(1);
  ASSERT_TRUE(plain.on(victim)(1, 1).get());

  Tally tally;
  std::vector<Fleet> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(join(fleet, victim.name()));
  std::vector<std::jthread> callers;  // stop and join however this function ends
  for (std::uint64_t t = 0; t < clients.size(); ++t) {
    callers.emplace_back([&, t](const std::stop_token& stop) {
      const NodeHandle there = clients[t].find("n1").value();
      const bool idempotent = t % 2 == 0;
      for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
        const auto began = steady_clock::now();
        const auto outcome = (idempotent ? again : plain).on(there)(t, i).get();
        tally.count(outcome, t + i, idempotent, steady_clock::now() - began);
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return tally.ok > 200; }));
  ASSERT_TRUE(fleet.kill(victim));
  EXPECT_TRUE(eventually([&] { return tally.lost > 0; }, milliseconds(2000)));
  ASSERT_TRUE(fleet.restart(victim));
  const std::uint64_t before = tally.ok;
  EXPECT_TRUE(eventually([&] { return tally.ok > before + 200; }));
  callers.clear();
  EXPECT_EQ(tally.late, 0U);
  EXPECT_EQ(tally.other, 0U);
  EXPECT_EQ(tally.idempotent_failed, 0U) << "idempotent calls complete after the restart";
}

TEST(FleetFaults, KillingANodeUnderLoadEndsEveryCallOverSharedMemory) {
  kill_under_load(LocalTransport::shm);
}

TEST(FleetFaults, KillingANodeUnderLoadEndsEveryCallOverTcp) {
  kill_under_load(LocalTransport::tcp);
}

TEST(FleetFaults, AFunctionThatBlocksDoesNotDelayOtherCallers) {
  Fleet fleet = local(1);
  const Bundle code = kernels();
  const auto sleep = code.function<bool(std::uint32_t)>("sleep_ms").value();
  const auto add = code.function<Add>("add_on_pool").value();
  const Fleet other = join(fleet, "n0");
  ASSERT_TRUE(add.on(fleet.node(0))(1, 1).get());
  auto blocked = sleep.on(fleet.node(0))(10'000);
  const auto began = steady_clock::now();
  for (const NodeHandle& node : {fleet.node(0), other.find("n0").value()}) {
    for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(value_of(add.on(node)(i, i).get()), 2 * i);
  }
  EXPECT_LT(steady_clock::now() - began, seconds(5));
  EXPECT_FALSE(blocked.ready());
  blocked.cancel();
}

TEST(FleetFaults, AThousandBundlesLiveInOneNode) {
  Fleet fleet = local(1);
  const NodeHandle node = fleet.node(0);
  const Bundle original = kernels(GODWIT_TEST_SMALL_BUNDLE);
  std::size_t right = 0;
  std::vector<Function<std::uint64_t()>> ticks;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Bundle renamed = rename_bundle(original, "bundle" + std::to_string(i));
    ticks.push_back(renamed.function<std::uint64_t()>("tick").value());
    // Its own globals: each bundle counts from one.
    const auto at = ticks.back().on(node);
    if (value_of(at().get()) == 1 && value_of(at().get()) == 2) ++right;
  }
  EXPECT_EQ(right, 1000U);
  std::size_t still_there = 0;
  for (const auto& tick : ticks) still_there += value_of(tick.on(node)().get()) == 3 ? 1 : 0;
  EXPECT_EQ(still_there, 1000U) << "the last bundle did not push the first ones out";
}

TEST(FleetFaults, SixtyFourClientsCallOneNode) {
  Fleet fleet = local(1);
  const std::string address = fleet.describe().at(0).addresses.at(0);
  const auto add = kernels().function<Add>("add").value();
  std::vector<Fleet> clients;
  for (int i = 0; i < 64; ++i) {
    auto client = Fleet::join(address);
    ASSERT_TRUE(client) << client.error().message;
    clients.push_back(*std::move(client));
  }
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (Fleet& client : clients) {
      EXPECT_EQ(value_of(add.on(client.node(0))(round, 1).get()), round + 1);
    }
  }
}

double cpu_seconds(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  for (int i = 0; i < 13; ++i) stat >> word;
  double user = 0;
  double system = 0;
  stat >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  for (pid_t pid = 0; list >> pid;) children.push_back(pid);
  return children;
}

TEST(FleetFaults, AnIdleNodeUsesUnderOnePercentOfACoreOnEveryTransport) {
  LocalOptions tcp;
  tcp.transport = LocalTransport::tcp;
  const Fleet fleets[] = {local(2), local(2, tcp)};
  const auto add = kernels().function<Add>("add").value();
  for (const Fleet& fleet : fleets) ASSERT_TRUE(add.on(fleet.node(0))(1, 1).get());
  const auto children = children_of(::getpid());
  ASSERT_EQ(children.size(), 4U);
  const auto settled = steady_clock::now() + milliseconds(500);
  eventually([&] { return steady_clock::now() > settled; });
  const auto used_so_far = [&](std::size_t first) {
    return cpu_seconds(children[first]) + cpu_seconds(children[first + 1]);
  };
  const double before_shm = used_so_far(0);
  const double before_tcp = used_so_far(2);
  const auto until = steady_clock::now() + seconds(4);
  std::this_thread::sleep_until(until);  // tidy: allow sleep, because idling is what is measured
  EXPECT_LT((used_so_far(0) - before_shm) / 2 / 4, 0.01) << "shared memory";
  EXPECT_LT((used_so_far(2) - before_tcp) / 2 / 4, 0.01) << "tcp";
}

TEST(FleetFaults, ALocalFleetEndsWithItsOwnerHoweverThatEnds) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const Fleet fleet = local(2);
    for (const pid_t child : children_of(::getpid())) {
      static_cast<void>(!::write(ends[1], &child, sizeof child));
    }
    ::close(ends[1]);
    ::pause();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::vector<pid_t> nodes;
  for (pid_t pid = 0; ::read(ends[0], &pid, sizeof pid) == sizeof pid;) nodes.push_back(pid);
  ::close(ends[0]);
  EXPECT_EQ(nodes.size(), 2U);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  for (const pid_t pid : nodes) {
    EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; })) << "node " << pid << " lives on";
  }
}

}  // namespace
}  // namespace godwit::node
