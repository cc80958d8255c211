// bench_ranks: work items between ranks that are processes or nodes, beside raw active messages
// (docs/benchmarks.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "floors/floors.hpp"
#include "godwit/exchange.hpp"
#include "interleave.hpp"
#include "machine.hpp"
#include "output_file.hpp"
#include "ranks/apart.hpp"
#include "ranks/bandwidth.hpp"
#include "ranks/nodes.hpp"
#include "table.hpp"

namespace godwit::bench {
namespace {

using floors::RoundTrips;
using floors::Sample;

constexpr std::size_t kChunkBytes = 32 * 1024;
constexpr double kGoal = 0.6;  // of raw active messages' bytes per second

struct Item {
  std::uint64_t words[8] = {};
};
struct Source {
  std::uint64_t items = 0;
};

// A source on rank 0 becomes items for rank 1, which sums them up.
struct Pour {
  std::uint64_t* sum;

  template <class Out>
  void operator()(const Source& source, Out& out) const {
    for (std::uint64_t i = 0; i < source.items; ++i) {
      Item item;
      item.words[0] = i;
      out.emit(item, 1);
    }
  }
  template <class Out>
  void operator()(const Item& item, Out&) const {
    *sum += item.words[0];
  }
};

// As if each chunk's worth of items were a message.
Result<Sample> pour(Group& group, std::uint64_t items) {
  constexpr std::uint64_t kPerSource = 16 * kChunkBytes / sizeof(Item);
  GODWIT_TRY(auto exchange, (Exchange<Source, Item>::create(group, {.chunk_bytes = kChunkBytes})));
  std::uint64_t sum = 0;
  std::uint64_t took_ns = 0;
  for (int turn = 0; turn < 2; ++turn) {  // the first one warms up
    for (std::uint64_t i = 0; i < items / kPerSource && group.rank() == 0; ++i) {
      exchange.emit(Source{kPerSource}, 0);
    }
    GODWIT_CHECK(exchange.advance());
    const std::uint64_t begin_ns = floors::now_ns();
    exchange.process(Pour{&sum});
    GODWIT_CHECK(exchange.run(Pour{&sum}));
    took_ns = floors::now_ns() - begin_ns;
  }
  return by_message(items / kPerSource * kPerSource * sizeof(Item), kChunkBytes, took_ns);
}

// A round in which every rank sends one item to every other.
Result<Sample> rounds(Group& group, std::size_t count) {
  GODWIT_TRY(auto exchange, Exchange<Item>::create(group));
  RoundTrips times(count);
  const std::uint64_t begin_ns = floors::now_ns();
  for (std::size_t i = 0; i < count; ++i) {
    for (Rank rank = 0; rank < group.ranks(); ++rank) exchange.emit(Item{}, rank);
    const std::uint64_t round_ns = floors::now_ns();
    GODWIT_CHECK(exchange.advance());
    times.add(floors::now_ns() - round_ns);
  }
  return times.summarise(floors::now_ns() - begin_ns);
}

Result<Table> measure_bandwidth(bool quick) {
  Table table{.suite = "ranks",
              .title = "64 B items from one process to another, beside messages of 32 KiB",
              .more_columns = {"GB/s"},
              .notes = {"A round trip is 32 KiB; the ratio is of bytes per second.",
                        "Nodes: the kernel travelled to two nodes of a fleet, which the system "
                        "places on cores; the time is until the program has its functions' "
                        "results."}};
  const std::uint64_t items = quick ? 500'000 : 8'000'000;
  const Effort effort{.seconds = quick ? 0.2 : 8.0, .min_rounds = 3, .max_rounds = 9};
  for (const Way way : {Way::shm, Way::tcp}) {
    const bool near = way == Way::shm;
    const floors::UcpAmOptions floor{
        .run = {.rounds = items * sizeof(Item) / kChunkBytes, .warm_up_rounds = 500},
        .tls = near ? floors::UcpTls::posix : floors::UcpTls::tcp,
        .payload_bytes = kChunkBytes,
        .reply_bytes = 0,
        .window = 64};
    const std::vector<Measure> contenders{
        [&] { return floors::measure_ucp_am(floor); },
        [&] { return measure_apart(2, way, [&](Group& group) { return pour(group, items); }); },
        [&] { return measure_nodes(way, items, kChunkBytes); }};
    GODWIT_TRY(const auto samples, interleave(contenders, effort));
    const char* const name = near ? "shm" : "tcp";
    const Goal goal{Goal::Kind::ratio_at_least, kGoal};
    Row raw{.name = fmt::format("ucp_am {}", near ? "posix" : "tcp"), .sample = samples[0]};
    Row ours{.name = fmt::format("items over {}", name), .sample = samples[1]};
    Row mobile{.name = fmt::format("items of nodes over {}", name), .sample = samples[2]};
    ours = beside(ours, raw, By::rate, goal);
    mobile = beside(mobile, raw, By::rate, goal);
    for (Row* const row : {&raw, &ours, &mobile}) {
      row->more = {row->sample.rate_per_s * static_cast<double>(kChunkBytes) * 1e-9};
      table.rows.push_back(*row);
    }
  }
  return table;
}

Result<Table> measure_rounds(bool quick) {
  Table table{.suite = "rounds", .title = "A round with one item for everybody, by processes"};
  const std::size_t count = quick ? 1'000 : 10'000;
  const Effort effort{.seconds = quick ? 0.2 : 4.0, .min_rounds = 3, .max_rounds = 9};
  for (const Way way : {Way::shm, Way::tcp}) {
    for (const Rank ranks : {2, 4}) {
      const std::vector<Measure> contenders{[&] {
        return measure_apart(ranks, way, [&](Group& group) { return rounds(group, count); });
      }};
      GODWIT_TRY(const auto samples, interleave(contenders, effort));
      table.rows.push_back(
          {.name = fmt::format("{} processes, {}", ranks, way == Way::shm ? "shm" : "tcp"),
           .sample = samples[0]});
    }
  }
  return table;
}

Status run(bool quick, const std::string& json_file) {
  const Machine machine = describe_machine();
  fmt::print("{}\n", to_text(machine));
  std::string json;
  for (const auto measure : {measure_bandwidth, measure_rounds}) {
    GODWIT_TRY(const Table table, measure(quick));
    fmt::print("\n{}: {}\n\n{}", table.suite, table.title, to_text(table));
    std::fflush(stdout);
    json += (json.empty() ? "\n  " : ",\n  ") + to_json(table);
  }
  GODWIT_CHECK(write_file(
      json_file, fmt::format("{{\"machine\": {},\n \"suites\": [{}]}}\n", to_json(machine), json)));
  fmt::print("\nAll rows are in {}.\n", json_file);
  return {};
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  bool quick = false;
  std::string json_file = godwit::bench::default_file("ranks.json");
  CLI::App app("Moves work items between processes, beside raw active messages.");
  app.add_flag("--quick", quick, "rough figures");
  app.add_option("--json", json_file, "where all rows go")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const godwit::Status done = godwit::bench::run(quick, json_file);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_ranks: {}\n", done.error().message);
  return EXIT_FAILURE;
}
