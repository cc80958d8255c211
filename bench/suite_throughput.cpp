// Many calls at once: a window from one thread, and several threads.
#include "contest.hpp"
#include "suites.hpp"
#include "target.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kWindow = 64;

struct EchoNode {
  Target target;
  Function<Echo> function;

  static Result<EchoNode> start(LocalTransport transport, const Settings& settings) {
    GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
    GODWIT_TRY(Target target, Target::start({.transport = transport,
                                             .client_core = settings.client_core,
                                             .node_core = settings.node_core}));
    GODWIT_TRY(auto function, bundle.function<Echo>("echo"));
    return EchoNode{std::move(target), std::move(function)};
  }
};

Result<std::vector<Row>> pipelined_over(LocalTransport transport, const Settings& settings,
                                        floors::ForkServer& floors) {
  const bool tcp = transport == LocalTransport::tcp;
  GODWIT_TRY(const EchoNode node, EchoNode::start(transport, settings));
  const auto echo = node.function.on(node.target.node());
  floors::RunOptions run;
  run.client_core = settings.client_core;
  run.server_core = settings.node_core;
  run.rounds = (settings.quick ? 10'000 : 20'000) / (tcp ? 4 : 1);
  const auto floor = [&](floors::UcpTls tls) {
    return floors::UcpAmOptions{.run = run, .tls = tls, .window = kWindow};
  };
  Contest contest(floors);
  if (tcp) {
    contest.add_floor("ucp_am tcp, window 64", floor(floors::UcpTls::tcp));
  } else {
    contest.add_floor("ucp_am posix, window 64", floor(floors::UcpTls::posix));
    contest.add_floor("ucp_am sysv, window 64", floor(floors::UcpTls::sysv));
  }
  const Calls calls{.rounds = run.rounds};
  contest.add(tcp ? "godwit tcp, window 64" : "godwit shm, window 64",
              [&] { return time_window(calls, kWindow, echo); });
  GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings.seconds / 2}));
  const Row* best = &rows[0];
  if (!tcp && rows[1].sample.p50_us < best->sample.p50_us) best = &rows[1];
  std::optional<Goal> goal;
  if (!tcp) goal = Goal{Goal::Kind::ratio_at_least, 1.2};
  rows.back() = beside(rows.back(), *best, By::pace, goal);
  return rows;
}

Result<std::vector<Row>> threads_over(LocalTransport transport, const Settings& settings,
                                      floors::ForkServer& floors) {
  const bool tcp = transport == LocalTransport::tcp;
  GODWIT_TRY(const EchoNode node, EchoNode::start(transport, settings));
  const auto echo = node.function.on(node.target.node());
  const Calls calls{.rounds = (settings.quick ? std::size_t{8'000} : std::size_t{40'000}) /
                              (tcp ? 4 : 1)};
  Contest contest(floors);
  floors::SharedFlagOptions flag;
  flag.run.client_core = settings.client_core;
  flag.run.server_core = settings.node_core;
  flag.run.rounds = (settings.quick ? 5'000 : 20'000) / (tcp ? 4 : 1);
  if (!tcp) contest.add_floor("flag in shared memory", flag);
  contest.add_floor(tcp ? "ucp_am tcp" : "ucp_am posix",
                    floors::UcpAmOptions{.run = flag.run,
                                         .tls = tcp ? floors::UcpTls::tcp : floors::UcpTls::posix});
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    contest.add(fmt::format("godwit {}, {} client thread{}", tcp ? "tcp" : "shm", threads,
                            threads > 1 ? "s" : ""),
                [&, threads] { return time_threads(calls, threads, echo); });
  }
  GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings.seconds / 2}));
  const std::size_t one = rows.size() - 3;
  rows[one] = beside(rows[one], rows[one - 1], By::p50);
  for (std::size_t i = one + 1; i < rows.size(); ++i)
    rows[i] = beside(rows[i], rows[one], By::rate);
  return rows;
}

}  // namespace

Result<Table> run_pipelined(const Settings& settings, floors::ForkServer& floors) {
  Table table{.suite = "pipelined",
              .title = "Calls of 64 B, one client thread, 64 in flight, both sides polling"};
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    GODWIT_TRY(const std::vector<Row> rows, pipelined_over(transport, settings, floors));
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  }
  table.notes.push_back(
      "The ratio is of paces, floor p50 / subject p50 with the same number in flight: more is "
      "better. "
      "On an idle machine it is the ratio of the rates; on a busy one the rates compare how the "
      "two "
      "get back onto their cores.");
  return table;
}

Result<Table> run_threads(const Settings& settings, floors::ForkServer& floors) {
  Table table{.suite = "threads",
              .title = "Calls of 64 B from threads that share one connection, one in flight each"};
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    GODWIT_TRY(const std::vector<Row> rows, threads_over(transport, settings, floors));
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  }
  table.notes.push_back(
      "The rate is of all threads together. The ratio is of p50 for one thread, and of rates for "
      "more. The threads share the client's core.");
  return table;
}

}  // namespace godwit::bench
