#include "floors/floors.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

#include "floors/fork_server.hpp"

namespace godwit::floors {
namespace {

constexpr RunOptions kShort{
    .rounds = 300, .warm_up_rounds = 20, .limit_s = 20, .client_core = -1, .server_core = -1};

void expect_plausible(const Result<Sample>& sample, std::size_t rounds = kShort.rounds) {
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->rounds, rounds);
  EXPECT_GT(sample->p50_us, 0.05);
  EXPECT_LE(sample->p50_us, sample->p99_us);
  EXPECT_LE(sample->p99_us, sample->p999_us);
  EXPECT_GT(sample->rate_per_s, 0);
}

void expect_no_children() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Floors, SummariseOrdersTheQuantiles) {
  RoundTrips times(1000);
  for (std::uint64_t i = 1000; i > 0; --i) times.add(i * 1000);
  const Sample sample = times.summarise(1'000'000'000);
  EXPECT_DOUBLE_EQ(sample.p50_us, 500);
  EXPECT_DOUBLE_EQ(sample.p99_us, 990);
  EXPECT_DOUBLE_EQ(sample.p999_us, 999);
  EXPECT_DOUBLE_EQ(sample.mean_us, 500.5);
  EXPECT_DOUBLE_EQ(sample.rate_per_s, 1000);
}

TEST(Floors, UcpAmEchoesOverTcpPollingAndSleeping) {
  for (const Waiting waiting : {Waiting::sleep, Waiting::poll}) {
    RunOptions run = kShort;
    run.rounds = 30;  // two pollers may share one core here
    run.warm_up_rounds = 5;
    expect_plausible(measure_ucp_am({.run = run, .tls = UcpTls::tcp, .waiting = waiting}), 30);
  }
  expect_no_children();
}

TEST(Floors, UcpAmEchoesAWindowOfLargePayloadsThroughSharedMemory) {
  RunOptions run = kShort;
  run.rounds = 40;
  run.warm_up_rounds = 4;
  expect_plausible(measure_ucp_am({.run = run,
                                   .tls = UcpTls::posix,
                                   .payload_bytes = 1 << 20,
                                   .window = 4,
                                   .waiting = Waiting::sleep}),
                   40);
  expect_no_children();
}

TEST(Floors, UcpAmAnswersLargeRequestsWithSmallReplies) {
  RunOptions run = kShort;
  run.rounds = 10;
  run.warm_up_rounds = 2;
  expect_plausible(measure_ucp_am({.run = run,
                                   .tls = UcpTls::tcp,
                                   .payload_bytes = 4 << 20,
                                   .reply_bytes = 8,
                                   .waiting = Waiting::sleep,
                                   .peer_errors = true}),
                   10);
}

TEST(Floors, SharedFlagAndSocketsAnswer) {
  RunOptions run = kShort;
  run.rounds = 20;
  run.warm_up_rounds = 2;
  expect_plausible(measure_shared_flag({.run = run}), 20);
  expect_plausible(measure_socket_echo({.run = kShort}));
  expect_plausible(measure_socket_echo({.run = kShort, .kind = SocketKind::tcp}));
  expect_no_children();
}

TEST(Floors, AChaseTravelsOrReturnsAfterEachStepAndEndsWhereItShould) {
  const auto list = ChaseList::create(1 << 12);
  ASSERT_TRUE(list) << list.error().message;
  for (const bool travels : {true, false}) {
    RunOptions run = kShort;
    run.rounds = 40;
    run.warm_up_rounds = 4;
    expect_plausible(measure_ucp_chase({.run = run,
                                        .nodes = 2,
                                        .elements = 1 << 12,
                                        .depth = 9,
                                        .window = 3,
                                        .travels = travels},
                                       *list),
                     40);
  }
  expect_no_children();
}

TEST(Floors, AChaseOrderIsOneCycleThroughAllElements) {
  const ChaseOrder order(1 << 10);
  std::uint64_t at = 0;
  std::uint64_t steps = 0;
  do {
    at = order.next(at);
    ++steps;
    EXPECT_EQ(order.leap(steps).from(0), at);
  } while (at != 0);
  EXPECT_EQ(steps, order.elements());
}

TEST(Floors, NonsenseIsRefusedBeforeAnythingRuns) {
  const auto window = measure_ucp_am({.run = kShort, .window = 0});
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(measure_shared_flag({.run = kShort, .payload_bytes = 57}));
}

TEST(Floors, APairThatHangsIsEndedByItsLimit) {
  RunOptions run = kShort;
  run.limit_s = 1;
  run.rounds = 100'000'000;
  const auto sample = measure_socket_echo({.run = run});
  ASSERT_FALSE(sample);
  EXPECT_NE(sample.error().message.find("limit of 1 s"), std::string::npos);
  expect_no_children();
}

TEST(Floors, AForkServerMeasuresForAProgramWithThreads) {
  auto server = ForkServer::start();
  ASSERT_TRUE(server) << server.error().message;
  expect_plausible(server->measure(SocketEchoOptions{.run = kShort}));
  expect_plausible(
      server->measure(UcpAmOptions{.run = kShort, .tls = UcpTls::tcp, .waiting = Waiting::sleep}));
  const auto refused = server->measure(SharedFlagOptions{.run = kShort, .payload_bytes = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace godwit::floors
