#include "contest.hpp"
#include "redis.hpp"
#include "suites.hpp"
#include "target.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kMessageBytes = 96;  // 64 and a header of 32

Result<Target> start_target(std::int64_t spin_us, int client_core, int node_core) {
  return Target::start({.spin_us = spin_us, .client_core = client_core, .node_core = node_core});
}

// Everybody sleeps between messages, and both sides share the node's core.
Status sleeping(const Settings& settings, floors::ForkServer& floors, Table& table) {
  const int core = settings.node_core;
  floors::RunOptions run{.rounds = settings.quick ? std::size_t{2'000} : std::size_t{10'000}};
  run.client_core = run.server_core = core;
  const auto redis = Redis::start(core);
  if (!redis) table.notes.push_back("Without Redis: " + redis.error().message + ".");
  GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
  GODWIT_TRY(const Target target, start_target(0, core, core));
  GODWIT_TRY(const auto function, bundle.function<Echo>("echo"));
  const auto echo = function.on(target.node());
  const Calls calls{.rounds = run.rounds};

  Contest contest(floors);
  contest.add_floor("unix socket, sleeping",
                    floors::SocketEchoOptions{.run = run, .message_bytes = kMessageBytes});
  if (redis) contest.add("redis FCALL", [&] { return redis->time_echo(run.rounds); });
  contest.add("godwit shm, sleeping",
              [&] { return time_calls(calls, [&] { return echo(Block{}).get(); }); });
  GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings.seconds / 3}));
  if (redis) {
    rows[2] = beside(rows[2], rows[1], By::p50, Goal{Goal::Kind::ratio_at_most, 1.0});
  } else {
    rows[1] = beside(rows[1], rows[0], By::p50);
  }
  table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  return {};
}

Status spinning(const Settings& settings, floors::ForkServer& floors, Table& table) {
  floors::RunOptions run{.rounds = settings.quick ? std::size_t{2'000} : std::size_t{10'000}};
  run.client_core = settings.client_core;
  run.server_core = settings.node_core;
  GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
  GODWIT_TRY(const Target target,
             start_target(kPollingSpinUs, settings.client_core, settings.node_core));
  GODWIT_TRY(const auto function, bundle.function<Echo>("echo"));
  const auto echo = function.on(target.node());
  const Calls calls{.rounds = run.rounds};
  Contest contest(floors);
  contest.add_floor(
      "unix socket, spinning",
      floors::SocketEchoOptions{
          .run = run, .message_bytes = kMessageBytes, .waiting = floors::Waiting::poll});
  contest.add("godwit shm, spinning",
              [&] { return time_calls(calls, [&] { return echo(Block{}).get(); }); });
  GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings.seconds / 6}));
  rows[1] = beside(rows[1], rows[0], By::p50);
  table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  return {};
}

}  // namespace

Result<Table> run_peers(const Settings& settings, floors::ForkServer& floors) {
  Table table{
      .suite = "peers",
      .title = "The same echo of 64 B as others do it: sleeping on one core, spinning on two"};
  GODWIT_CHECK(sleeping(settings, floors, table));
  GODWIT_CHECK(spinning(settings, floors, table));
  return table;
}

}  // namespace godwit::bench
