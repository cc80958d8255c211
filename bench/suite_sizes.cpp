#include <algorithm>

#include "contest.hpp"
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

Status sizes_over(LocalTransport transport, const Settings& settings, floors::ForkServer& floors,
                  Table& table) {
  const bool tcp = transport == LocalTransport::tcp;
  GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
  GODWIT_TRY(const Target target, Target::start({.transport = transport,
                                                 .client_core = settings.client_core,
                                                 .node_core = settings.node_core}));
  GODWIT_TRY(const auto function, bundle.function<EchoBytes>("echo_bytes"));
  const auto echo = function.on(target.node());
  for (const std::size_t bytes : kSizes) {
    if (settings.quick && bytes > kQuickLimit) break;
    floors::UcpAmOptions floor{.tls = tcp ? floors::UcpTls::tcp : floors::UcpTls::posix,
                               .payload_bytes = bytes};
    floor.run.client_core = settings.client_core;
    floor.run.server_core = settings.node_core;
    floor.run.rounds = rounds_for(bytes, settings.quick);
    floor.run.warm_up_rounds = std::max<std::size_t>(1, floor.run.rounds / 10);
    const Calls calls{.rounds = floor.run.rounds, .warm_up_rounds = floor.run.warm_up_rounds};
    const std::vector<std::byte> payload(bytes, std::byte{1});
    Contest contest(floors);
    contest.add_floor(fmt::format("ucp_am {}, {}", tcp ? "tcp" : "posix", size_text(bytes)), floor);
    contest.add(fmt::format("godwit {}, {}", tcp ? "tcp" : "shm", size_text(bytes)),
                [&] { return time_calls(calls, [&] { return echo(std::span(payload)).get(); }); });
    const std::size_t least = settings.quick || bytes >= kLarge ? 1 : 3;
    GODWIT_TRY(std::vector<Row> rows,
               contest.run({.seconds = settings.seconds / 18, .min_rounds = least}));
    rows[1] = beside(rows[1], rows[0], By::p50);
    for (Row& row : rows) {
      row.more = {megabytes_per_s(row, bytes)};
      table.rows.push_back(std::move(row));
    }
  }
  return {};
}

}  // namespace

Result<Table> run_sizes(const Settings& settings, floors::ForkServer& floors) {
  Table table{.suite = "sizes",
              .title = "Echo of growing arguments, one call at a time, both sides polling",
              .more_columns = {"MB/s"}};
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    GODWIT_CHECK(sizes_over(transport, settings, floors, table));
  }
  table.notes.push_back(
      "MB/s counts both directions. Godwit's result is a new std::vector each time; ucp_am answers "
      "from the buffer it received into.");
  return table;
}

}  // namespace godwit::bench
