// bench_forward: work items that move between ranks, beside what moving bytes costs
// (docs/benchmarks.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "forward/suites.hpp"
#include "machine.hpp"
#include "output_file.hpp"

namespace godwit::bench {
namespace {

struct Suite {
  const char* name;
  Result<Table> (*run)(const ForwardScope& scope);
};
constexpr Suite kSuites[] = {
    {"threads", run_forward_threads}, {"sizes", run_forward_sizes}, {"pace", run_forward_pace}};

struct Request {
  ForwardScope scope;
  std::vector<std::string> suites;
  std::string json_file;
};

Status run(const Request& request) {
  const Machine machine = describe_machine();
  fmt::print("{}\n", to_text(machine));
  fmt::print("floors and subjects take turns; each figure is the median of its rounds' figures\n");
  std::string json;
  for (const Suite& suite : kSuites) {
    if (!request.suites.empty() && std::ranges::count(request.suites, suite.name) == 0) continue;
    GODWIT_TRY(const Table table, suite.run(request.scope));
    fmt::print("\n{}: {}\n\n{}", table.suite, table.title, to_text(table));
    std::fflush(stdout);
    json += (json.empty() ? "\n  " : ",\n  ") + to_json(table);
  }
  GODWIT_CHECK(
      write_file(request.json_file,
                 fmt::format("{{\"machine\": {},\n \"suites\": [{}]}}\n", to_json(machine), json)));
  fmt::print("\nAll rows are in {}.\n", request.json_file);
  return {};
}

int run_main(int argc, char** argv) {
  Request request;
  request.json_file = default_file("forward.json");
  CLI::App app("Moves work items between ranks, beside memcpy.");
  std::vector<std::string> known;
  for (const Suite& suite : kSuites) known.emplace_back(suite.name);
  app.add_option("suite", request.suites, "threads, sizes, pace")->check(CLI::IsMember(known));
  app.add_flag("--quick", request.scope.quick, "rough figures");
  app.add_flag("--full", request.scope.full, "ten million items per rank, too")
      ->excludes("--quick");
  app.add_option("--json", request.json_file, "where all rows go")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Status done = run(request);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_forward: {}\n", done.error().message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  return godwit::bench::run_main(argc, argv);
}
