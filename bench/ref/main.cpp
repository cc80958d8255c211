// bench_ref: objects put, resolved and handed on by reference, beside what that stands on
// (docs/benchmarks.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "machine.hpp"
#include "output_file.hpp"
#include "ref/suites.hpp"

namespace godwit::bench {
namespace {

struct Suite {
  const char* name;
  Result<Table> (*run)(const Scope& scope);
};
constexpr Suite kSuites[] = {
    {"shm", run_ref_shm},         {"tcp", run_ref_tcp},         {"sleeping", run_ref_sleeping},
    {"batch", run_ref_batch},     {"threads", run_ref_threads}, {"futures", run_ref_futures},
    {"streams", run_ref_streams}, {"memory", run_ref_memory},   {"channels", run_ref_channels}};

struct Request {
  Scope scope;
  std::vector<std::string> suites;
  std::string json_file;

  [[nodiscard]] bool wants(const std::string& suite) const {
    return suites.empty() || std::ranges::count(suites, suite) > 0;
  }
};

void print_heading(const Machine& machine, const Scope& scope) {
  fmt::print("{}\n", to_text(machine));
  fmt::print(
      "client and far side on core {}, node on core {} (-1: any), where nothing else is said; "
      "spinning: {} us before a side sleeps\n",
      scope.client_core, scope.node_core, kPollingSpinUs);
  fmt::print("floors and subjects take turns; each figure is the median of its rounds' figures\n");
  std::fflush(stdout);
}

Status run(const Request& request) {
  const Machine machine = describe_machine();
  print_heading(machine, request.scope);
  std::string json;
  Status failed;
  for (const Suite& suite : kSuites) {
    if (!request.wants(suite.name)) continue;
    auto table = suite.run(request.scope);
    if (!table) {
      // The others still have something to say; the exit status tells that this one did not.
      failed = fail(table.error().code, "{}: {}", suite.name, table.error().message);
      fmt::print("\n{}: not measured: {}\n", suite.name, table.error().message);
      continue;
    }
    fmt::print("\n{}: {}\n\n{}", table->suite, table->title, to_text(*table));
    std::fflush(stdout);
    json += (json.empty() ? "\n  " : ",\n  ") + to_json(*table);
  }
  GODWIT_CHECK(
      write_file(request.json_file,
                 fmt::format("{{\"machine\": {},\n \"suites\": [{}]}}\n", to_json(machine), json)));
  fmt::print("\nAll rows are in {}.\n", request.json_file);
  return failed;
}

int run_main(int argc, char** argv) {
  Request request;
  request.json_file = default_file("ref.json");
  CLI::App app(
      "Puts, resolves and hands on objects, beside memcpy, a mapping, raw tcp, Redis "
      "and ZeroMQ.");
  std::vector<std::string> known;
  for (const Suite& suite : kSuites) known.emplace_back(suite.name);
  app.add_option("suite", request.suites,
                 "shm, tcp, sleeping, batch, threads, futures, streams, memory, channels")
      ->check(CLI::IsMember(known));
  app.add_flag("--quick", request.scope.quick, "rough figures, up to 10 MB");
  app.add_option("--bytes", request.scope.only,
                 "only objects of so many bytes, in the suites shm and tcp")
      ->check(CLI::Range(1'000, 1'000'000'000));
  app.add_option("--json", request.json_file, "where all rows go")->capture_default_str();
  app.add_option("--client-core", request.scope.client_core, "-1: not pinned")
      ->capture_default_str();
  app.add_option("--node-core", request.scope.node_core, "-1: not pinned")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Status done = run(request);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_ref: {}\n", done.error().message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == godwit::bench::kFarSideCommand) {
    return godwit::bench::run_far_side(argc, argv);
  }
  return godwit::bench::run_main(argc, argv);
}
