#include <algorithm>

#include "contest.hpp"
#include "served_node.hpp"
#include "suites.hpp"
#include "target.hpp"

namespace godwit::bench {
namespace {

constexpr Block kBlock{1, 2, 3, 4, 5, 6, 7, 8};

class Warm {
 public:
  Warm(const Settings& settings, floors::ForkServer& floors)
      : settings_(settings), floors_(floors) {
    run_.client_core = settings.client_core;
    run_.server_core = settings.node_core;
    run_.rounds = settings.quick ? 5'000 : 20'000;
    calls_.rounds = run_.rounds;
  }

  [[nodiscard]] Result<Table> run() {
    GODWIT_TRY(bundle_, open_bundle("bench_echo.gdw"));
    Table table{.suite = "warm", .title = "Warm calls of 64 B, one at a time, both sides polling"};
    GODWIT_CHECK(shared_memory(table));
    GODWIT_CHECK(mobility(table));
    GODWIT_CHECK(tcp(table));
    return table;
  }

 private:
  [[nodiscard]] Target::Options placed(LocalTransport transport) const {
    return {.transport = transport,
            .client_core = settings_.client_core,
            .node_core = settings_.node_core};
  }
  [[nodiscard]] Effort effort() const { return {.seconds = settings_.seconds / 3}; }
  [[nodiscard]] Result<BoundFunction<Echo>> bind(const Target& target, const char* name) const {
    GODWIT_TRY(const auto function, bundle_->function<Echo>(name));
    return function.on(target.node());
  }
  [[nodiscard]] Measure timing(const BoundFunction<Echo>& echo) const {
    return [this, &echo] { return time_calls(calls_, [&] { return echo(kBlock).get(); }); };
  }

  Status shared_memory(Table& table) const {
    GODWIT_TRY(const Target target, Target::start(placed(LocalTransport::shm)));
    GODWIT_TRY(const auto echo, bind(target, "echo"));
    GODWIT_TRY(const auto on_pool, bind(target, "echo_on_pool"));
    Contest contest(floors_);
    contest.add_floor("flag in shared memory", floors::SharedFlagOptions{.run = run_});
    contest.add_floor("ucp_am posix",
                      floors::UcpAmOptions{.run = run_, .tls = floors::UcpTls::posix});
    contest.add_floor("ucp_am sysv",
                      floors::UcpAmOptions{.run = run_, .tls = floors::UcpTls::sysv});
    contest.add("godwit shm, inline", timing(echo));
    contest.add("godwit shm, pool", timing(on_pool));
    GODWIT_TRY(std::vector<Row> rows, contest.run(effort()));
    // The faster of UCX's two ways is the floor.
    const Row ucp = rows[1].sample.p50_us < rows[2].sample.p50_us ? rows[1] : rows[2];
    rows[3] = beside(rows[3], ucp, By::p50, Goal{Goal::Kind::ratio_at_most, 0.7});
    rows[4] = beside(rows[4], ucp, By::p50);
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    return {};
  }

  // Two nodes that differ in nothing but where the function came from.
  Status mobility(Table& table) const {
    const auto serve = [&](Installed installed) {
      return ServedNode::start(
          {.installed = installed, .spin_us = kPollingSpinUs, .core = settings_.node_core});
    };
    GODWIT_TRY(const ServedNode with, serve(Installed::echo));
    GODWIT_TRY(const ServedNode without, serve(Installed::nothing));
    GODWIT_TRY(const Target to_with, Target::join(with.address(), placed(LocalTransport::shm)));
    GODWIT_TRY(const Target to_without,
               Target::join(without.address(), placed(LocalTransport::shm)));
    GODWIT_TRY(const auto installed, bind(to_with, "echo"));
    GODWIT_TRY(const auto shipped, bind(to_without, "echo"));
    Contest contest(floors_);
    const auto alone = [this](const BoundFunction<Echo>& echo) -> Measure {
      return [measure = timing(echo)] {
        let_pollers_sleep();
        return measure();
      };
    };
    contest.add("function installed beforehand", alone(installed));
    contest.add("function shipped and cached", alone(shipped));
    Effort both = effort();
    both.max_rounds = 60;  // two per cent are looked for
    GODWIT_TRY(std::vector<Row> rows, contest.run(both));
    rows[1] = beside(rows[1], rows[0], By::p50, Goal{Goal::Kind::ratio_at_most, 1.02});
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    return {};
  }

  Status tcp(Table& table) {
    run_.rounds = calls_.rounds = settings_.quick ? 1'000 : 5'000;
    GODWIT_TRY(const Target target, Target::start(placed(LocalTransport::tcp)));
    GODWIT_TRY(const auto echo, bind(target, "echo"));
    Contest contest(floors_);
    contest.add_floor("ucp_am tcp", floors::UcpAmOptions{.run = run_, .tls = floors::UcpTls::tcp});
    contest.add_floor(
        "ucp_am tcp, peer errors",
        floors::UcpAmOptions{.run = run_, .tls = floors::UcpTls::tcp, .peer_errors = true});
    contest.add("godwit tcp, inline", timing(echo));
    GODWIT_TRY(std::vector<Row> rows, contest.run(effort()));
    rows[2] = beside(rows[2], rows[0], By::p50, Goal{Goal::Kind::ratio_at_most, 1.05});
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    return {};
  }

  const Settings& settings_;
  floors::ForkServer& floors_;
  floors::RunOptions run_;
  Calls calls_;
  std::optional<Bundle> bundle_;
};

}  // namespace

Result<Table> run_warm(const Settings& settings, floors::ForkServer& floors) {
  return Warm(settings, floors).run();
}

}  // namespace godwit::bench
