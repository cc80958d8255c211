#include <algorithm>
#include <memory>
#include <optional>

#include "contest.hpp"
#include "served_node.hpp"
#include "suites.hpp"
#include "target.hpp"

namespace godwit::bench {
namespace {

constexpr std::size_t kSizes[] = {
    8, 64, 512, 4096, 32 << 10, 256 << 10, 2 << 20, 16 << 20, std::size_t{64} << 20};

constexpr std::size_t kQuickLimit = 2 << 20;
constexpr std::size_t kLarge = 16 << 20;  // one round must do

std::string size_text(std::size_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

// Enough round trips for a median, within a bound on the bytes moved.
std::size_t rounds_for(std::size_t bytes, bool quick) {
  const std::size_t bytes_moved = std::size_t{quick ? 16U : 128U} << 20;
  const std::size_t most = quick ? 1'000 : 4'000;
  return std::clamp<std::size_t>(bytes_moved / bytes, 3, most);
}

// Both directions count.
double megabytes_per_s(const Row& row, std::size_t bytes) {
  return row.sample.p50_us > 0 ? 2 * static_cast<double>(bytes) / row.sample.p50_us : 0;
}

// The same function on two nodes that differ in nothing but where it came from.
class Sizes {
 public:
  static Result<Sizes> start(LocalTransport transport, const Settings& settings) {
    GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
    GODWIT_TRY(const auto function, bundle.function<EchoBytes>("echo_bytes"));
    Sizes sizes(transport, settings);
    GODWIT_TRY(sizes.installed_, sizes.serve(Installed::echo, function));
    GODWIT_TRY(sizes.shipped_, sizes.serve(Installed::nothing, function));
    return sizes;
  }

  Status measure(std::size_t bytes, floors::ForkServer& floors, Table& table) const {
    const std::string of_size = (tcp_ ? "tcp, " : "shm, ") + size_text(bytes);
    floors::UcpAmOptions floor{.tls = tcp_ ? floors::UcpTls::tcp : floors::UcpTls::posix,
                               .payload_bytes = bytes};
    floor.run.client_core = settings_.client_core;
    floor.run.server_core = settings_.node_core;
    floor.run.rounds = rounds_for(bytes, settings_.quick);
    floor.run.warm_up_rounds = std::max<std::size_t>(1, floor.run.rounds / 10);
    const Calls calls{.rounds = floor.run.rounds, .warm_up_rounds = floor.run.warm_up_rounds};
    const std::vector<std::byte> payload(bytes, std::byte{1});
    const auto alone = [&](const Served& served) -> Measure {
      return [&] {
        let_pollers_sleep();
        return time_calls(calls, [&] { return (*served.echo)(std::span(payload)).get(); });
      };
    };
    Contest contest(floors);
    contest.add_floor(fmt::format("ucp_am {}, {}", tcp_ ? "tcp" : "posix", size_text(bytes)),
                      floor);
    contest.add("installed " + of_size, alone(installed_));
    contest.add("godwit " + of_size, alone(shipped_));
    const std::size_t least = settings_.quick || bytes >= kLarge ? 1 : 3;
    GODWIT_TRY(std::vector<Row> rows,
               contest.run({.seconds = settings_.seconds / 18, .min_rounds = least}));
    rows[2] = beside(rows[2], rows[0], By::p50);
    for (Row& row : rows) row.more = {megabytes_per_s(row, bytes)};
    rows[2].more.push_back(rows[2].sample.p50_us / rows[1].sample.p50_us);
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    return {};
  }

 private:
  struct Served {
    std::shared_ptr<const ServedNode> node;  // outlives the connection
    std::shared_ptr<const Target> target;
    std::optional<BoundFunction<EchoBytes>> echo;
  };

  Sizes(LocalTransport transport, const Settings& settings)
      : settings_(settings), transport_(transport), tcp_(transport == LocalTransport::tcp) {}

  [[nodiscard]] Result<Served> serve(Installed installed,
                                     const Function<EchoBytes>& function) const {
    GODWIT_TRY(ServedNode node, ServedNode::start({.installed = installed,
                                                   .transport = transport_,
                                                   .spin_us = kPollingSpinUs,
                                                   .core = settings_.node_core}));
    GODWIT_TRY(Target target, Target::join(node.address(), {.transport = transport_,
                                                            .client_core = settings_.client_core,
                                                            .node_core = settings_.node_core}));
    Served served;
    served.node = std::make_shared<const ServedNode>(std::move(node));
    served.target = std::make_shared<const Target>(std::move(target));
    served.echo = function.on(served.target->node());
    return served;
  }

  const Settings& settings_;
  LocalTransport transport_;
  bool tcp_;
  Served installed_;
  Served shipped_;
};

}  // namespace

Result<Table> run_sizes(const Settings& settings, floors::ForkServer& floors) {
  Table table{.suite = "sizes",
              .title = "Echo of growing arguments, one call at a time, both sides polling",
              .more_columns = {"MB/s", "x installed"}};
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    GODWIT_TRY(const Sizes sizes, Sizes::start(transport, settings));
    for (const std::size_t bytes : kSizes) {
      if (settings.quick && bytes > kQuickLimit) break;
      GODWIT_CHECK(sizes.measure(bytes, floors, table));
    }
  }
  table.notes.push_back(
      "MB/s counts both directions. x installed: p50 of a function that was shipped, over that of "
      "the same function installed beforehand, the price of mobility. Godwit's result is a new "
      "std::vector each time; ucp_am answers "
      "from the buffer it received into.");
  return table;
}

}  // namespace godwit::bench
