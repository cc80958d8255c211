// Labs with real packets. Lower bounds of time are exact, upper ones leave room for busy machines.
#include "lab_test.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/write_all.hpp"
#include "netlab/sockets.hpp"
#include "netlab/traffic.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr std::uint16_t kPort = 7000;

Numbers pings(const Lab& lab, const Pinging& pinging) {
  auto asked = Asked::start(
      lab, 0, [&] { return ping({.address = lab.address(1), .port = kPort}, pinging); });
  EXPECT_TRUE(asked) << asked.error().message;
  auto times = asked->get(kTestLimit);
  EXPECT_TRUE(times) << times.error().message;
  return times ? *times : Numbers{};
}

// Polls; false if it does not come to hold in time.
template <class Condition>
bool eventually(const Condition& holds) {
  const auto until = steady_clock::now() + kTestLimit;
  while (!holds()) {
    if (steady_clock::now() >= until) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

TEST(Lab, ARoundTripTakesTheDelayTwiceAndLittleMore) {
  NETLAB_OR_SKIP(lab, {.hosts = 2, .shape = {.delay = milliseconds(2)}});
  auto echo = lab.fork(1, [] { return echo_datagrams(kPort); });
  ASSERT_TRUE(echo) << echo.error().message;
  Numbers times = pings(lab, {.count = 101});
  ASSERT_EQ(times.size(), 101U);
  std::sort(times.begin(), times.end());
  EXPECT_GE(times.front(), 4'000'000U);
  EXPECT_LT(times[50], 4'000'000U + 20'000'000U);
}

TEST(Lab, DirectionsHaveShapesOfTheirOwn) {
  NETLAB_OR_SKIP(lab, {.hosts = 2});
  auto echo = lab.fork(1, [] { return echo_datagrams(kPort); });
  ASSERT_TRUE(echo);
  ASSERT_TRUE(lab.set_shape({.from = 1, .to = 0}, {.delay = milliseconds(100)}));
  Numbers times = pings(lab, {.count = 5});
  ASSERT_EQ(times.size(), 5U);
  std::sort(times.begin(), times.end());
  EXPECT_GE(times.front(), 100'000'000U);
  EXPECT_LT(times[2], 200'000'000U);  // which would be the least, were it both ways
}

TEST(Lab, EveryHostReachesEveryOther) {
  NETLAB_OR_SKIP(lab, {.hosts = 4});
  std::vector<Process> echoes;
  for (std::uint32_t host = 0; host < lab.host_count(); ++host) {
    auto echo = lab.fork(host, [] { return echo_datagrams(kPort); });
    ASSERT_TRUE(echo) << echo.error().message;
    echoes.push_back(*std::move(echo));
  }
  for (std::uint32_t from = 0; from < lab.host_count(); ++from) {
    auto asked = Asked::start(lab, from, [&] {
      Numbers counts;
      for (std::uint32_t to = 0; to < lab.host_count(); ++to) {
        counts.push_back(ping({.address = lab.address(to), .port = kPort}, {.count = 2}).size());
      }
      return counts;
    });
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->get(kTestLimit).value(), (Numbers{2, 2, 2, 2}));
  }
}

TEST(Lab, LosesTheFractionAskedForAndCountsEveryPacket) {
  constexpr std::size_t kCount = 20'000;
  NETLAB_OR_SKIP(lab, {.hosts = 2, .seed = 11});
  ASSERT_TRUE(lab.set_shape({.from = 0, .to = 1}, {.loss = 0.05}));
  auto sink =
      Asked::start(lab, 1, [] { return count_datagrams(kPort, kCount, milliseconds(500)); });
  // Slow enough for the switch to keep up on a busy machine.
  auto source = Asked::start(lab, 0, [&] {
    return send_datagrams({.address = lab.address(1), .port = kPort},
                          {.count = kCount, .gap = microseconds(20)});
  });
  ASSERT_TRUE(sink && source);
  const std::uint64_t came = sink->get(kTestLimit).value().at(0);
  const LinkCounters counters = lab.counters({.from = 0, .to = 1}).value();
  EXPECT_EQ(counters.offered, counters.delivered + counters.lost);
  EXPECT_LE(came, counters.delivered);
  // Five standard deviations of a binomial distribution: 5 * sqrt(n p q) = 154.
  EXPECT_NEAR(static_cast<double>(counters.lost), 0.05 * static_cast<double>(counters.offered),
              154);
  EXPECT_GE(counters.offered, kCount * 9 / 10);
}

TEST(Lab, NoMorePassesThanTheRateAllows) {
  // 2 MB at 4 MB/s: half a second at least.
  constexpr std::size_t kBytes = 2'000'000;
  NETLAB_OR_SKIP(lab, {.hosts = 2, .shape = {.rate_bytes_per_s = 4'000'000}});
  auto sink = Asked::start(lab, 1, [] { return receive_stream(kPort, seconds(10)); });
  const auto begin = steady_clock::now();
  auto source = Asked::start(lab, 0, [&] {
    return send_stream({.address = lab.address(1), .port = kPort}, kBytes, seconds(10));
  });
  ASSERT_TRUE(sink && source);
  EXPECT_EQ(sink->get(kTestLimit).value().at(0), kBytes);
  const nanoseconds took = steady_clock::now() - begin;
  EXPECT_GE(took, milliseconds(500));
  EXPECT_LT(took, seconds(5));
}

TEST(Lab, AQueueThatIsFullDropsAndSaysSo) {
  constexpr std::size_t kCount = 200;
  NETLAB_OR_SKIP(lab, {.hosts = 2});
  ASSERT_TRUE(lab.set_shape({.from = 0, .to = 1},
                            {.rate_bytes_per_s = 100'000, .queue_limit_bytes = 10'000}));
  auto sink = Asked::start(lab, 1, [] { return count_datagrams(kPort, kCount, seconds(1)); });
  auto source = Asked::start(lab, 0, [&] {
    return send_datagrams({.address = lab.address(1), .port = kPort},
                          {.count = kCount, .size_bytes = 972});  // 1000 with its headers
  });
  ASSERT_TRUE(sink && source);
  const std::uint64_t came = sink->get(kTestLimit).value().at(0);
  const LinkCounters counters = lab.counters({.from = 0, .to = 1}).value();
  EXPECT_GE(came, 9U);
  EXPECT_LT(came, kCount / 2);
  EXPECT_GE(counters.overflown, kCount / 2);
}

TEST(Lab, ACutLinkCarriesNothingUntilItIsHealed) {
  NETLAB_OR_SKIP(lab, {.hosts = 2});
  auto echo = lab.fork(1, [] { return echo_datagrams(kPort); });
  ASSERT_TRUE(echo);
  auto asked = Asked::start(lab, 0, [&] {
    return ping({.address = lab.address(1), .port = kPort},
                {.count = 2'000'000, .patience = milliseconds(5)});
  });
  ASSERT_TRUE(asked);
  const auto delivered = [&] { return lab.counters({.from = 1, .to = 0}).value().delivered; };
  ASSERT_TRUE(eventually([&] { return delivered() > 10; }));
  ASSERT_TRUE(lab.cut({.a = 0, .b = 1}));
  const std::uint64_t at_cut = delivered();
  const auto cut = [&] { return lab.counters({.from = 0, .to = 1}).value().cut; };
  ASSERT_TRUE(eventually([&] { return cut() > 10; }));
  EXPECT_EQ(delivered(), at_cut);
  ASSERT_TRUE(lab.heal({.a = 0, .b = 1}));
  EXPECT_TRUE(eventually([&] { return delivered() > at_cut + 10; }));
}

TEST(Lab, ATcpTransferSurvivesLoss) {
  constexpr std::size_t kBytes = 4'000'000;
  NETLAB_OR_SKIP(lab, {.hosts = 2, .shape = {.delay = microseconds(300), .loss = 0.01}, .seed = 5});
  auto sink = Asked::start(lab, 1, [] { return receive_stream(kPort, seconds(10)); });
  auto source = Asked::start(lab, 0, [&] {
    return send_stream({.address = lab.address(1), .port = kPort}, kBytes, seconds(10));
  });
  ASSERT_TRUE(sink && source);
  EXPECT_EQ(sink->get(kTestLimit).value().at(0), kBytes);
  EXPECT_GT(lab.counters({.from = 0, .to = 1}).value().lost, 0U);
}

TEST(Lab, AProgramRunsInItsHost) {
  NETLAB_OR_SKIP(lab, {.hosts = 3});
  const Captured output;
  auto process = lab.run(2, {"sh", "-c", "echo $GREETING; ls /sys/class/net; echo $$; exit 7"},
                         {.environment = {"GREETING=hello"}, .output_fd = output.fd()});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->wait(kTestLimit).value(), 7);
  EXPECT_THAT(output.text(), HasSubstr("hello\nlab0\nlo\n"));
  EXPECT_THAT(output.text(), testing::Not(HasSubstr(std::to_string(process->pid()) + "\n")));
}

TEST(Lab, AProgramThatIsNotThereIsAnError) {
  NETLAB_OR_SKIP(lab, {.hosts = 1});
  const auto process = lab.run(0, {"/no/such/program"});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, ErrorCode::not_found) << process.error().message;
}

TEST(Lab, ASignalReachesTheProcessAndIsInItsExitCode) {
  NETLAB_OR_SKIP(lab, {.hosts = 1});
  auto process = lab.run(0, {"sleep", "600"});
  ASSERT_TRUE(process);
  EXPECT_EQ(process->wait(milliseconds(1)).error().code, ErrorCode::deadline);
  process->signal(SIGTERM);
  EXPECT_EQ(process->wait(kTestLimit).value(), 128 + SIGTERM);
}

TEST(Lab, HostsAndShapesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(Lab::create({.hosts = 0}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Lab::create({.hosts = kMaxHosts + 1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Lab::create({.mtu_bytes = 100}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Lab::create({.shape = {.loss = 2}}).error().code, ErrorCode::invalid_argument);
  NETLAB_OR_SKIP(lab, {.hosts = 2});
  EXPECT_FALSE(lab.set_shape({.from = 0, .to = 2}, {}));
  EXPECT_FALSE(lab.set_shape({.from = 1, .to = 1}, {}));
  EXPECT_FALSE(lab.set_shape({.loss = -1}));
  EXPECT_FALSE(lab.cut({.a = 0, .b = 5}));
  EXPECT_FALSE(lab.counters({.from = 7, .to = 0}));
  EXPECT_FALSE(lab.run(2, {"true"}));
}

fabric::Fd pidfd_of(std::uint64_t pid) {
  return fabric::Fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

// The keeper inherits what was put into the background.
std::vector<std::uint64_t> orphans_of(pid_t keeper) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", keeper));
  return {std::istream_iterator<std::uint64_t>(list), {}};
}

TEST(Lab, NothingIsLeftWhenItEnds) {
  std::vector<fabric::Fd> pidfds;
  {
    NETLAB_OR_SKIP(lab, {.hosts = 2});
    const pid_t keeper = lab.keeper_pid(0).value();
    auto process = lab.run(0, {"sh", "-c", "setsid sleep 600 &"});
    ASSERT_TRUE(process);
    ASSERT_EQ(process->wait(kTestLimit).value(), 0);
    ASSERT_TRUE(eventually([&] { return !orphans_of(keeper).empty(); }));
    pidfds.push_back(pidfd_of(orphans_of(keeper).front()));
    pidfds.push_back(pidfd_of(static_cast<std::uint64_t>(keeper)));
    pidfds.push_back(pidfd_of(static_cast<std::uint64_t>(lab.keeper_pid(1).value())));
    for (const fabric::Fd& pidfd : pidfds) ASSERT_TRUE(pidfd);
  }
  for (const fabric::Fd& pidfd : pidfds) {
    EXPECT_TRUE(readable_by(pidfd.get(), steady_clock::now()));
  }
}

// The owner is a process of its own here: it makes a lab, tells who is in it, and is killed.
TEST(Lab, NothingIsLeftWhenItsOwnerIsKilled) {
  {
    NETLAB_OR_SKIP(probe, {.hosts = 1});
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  fabric::Fd ours(ends[0]);
  fabric::Fd theirs(ends[1]);
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    ours.reset();
    auto lab = Lab::create({.hosts = 2});
    auto program = (*lab)->run(0, {"sleep", "600"});
    auto function = (*lab)->fork(1, [] { return ::pause(); });
    const Numbers pids{static_cast<std::uint64_t>((*lab)->keeper_pid(0).value()),
                       static_cast<std::uint64_t>((*lab)->keeper_pid(1).value()),
                       static_cast<std::uint64_t>(program->pid()),
                       static_cast<std::uint64_t>(function->pid())};
    (void)write_all(theirs.get(), std::as_bytes(std::span(pids)));
    while (true) ::pause();
  }
  theirs.reset();
  Numbers pids(4);
  ASSERT_TRUE(readable_by(ours.get(), steady_clock::now() + kTestLimit));
  ASSERT_EQ(::read(ours.get(), pids.data(), 4 * sizeof(std::uint64_t)), 32);
  std::vector<fabric::Fd> pidfds;
  for (const std::uint64_t pid : pids) {
    pidfds.push_back(pidfd_of(pid));
    ASSERT_TRUE(pidfds.back());
    EXPECT_FALSE(readable_by(pidfds.back().get(), steady_clock::now()));
  }
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  const auto until = steady_clock::now() + kTestLimit;
  for (const fabric::Fd& pidfd : pidfds) EXPECT_TRUE(readable_by(pidfd.get(), until));
}

}  // namespace
}  // namespace godwit::netlab
