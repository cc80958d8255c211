// godwit-bench: measures calls on this machine, each beside its floor.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "machine.hpp"
#include "output_file.hpp"
#include "served_node.hpp"
#include "suites.hpp"

namespace godwit::bench {
namespace {

struct Suite {
  const char* name;
  Result<Table> (*run)(const Settings& settings, floors::ForkServer& floors);
};
constexpr Suite kSuites[] = {{"warm", run_warm},       {"pipelined", run_pipelined},
                             {"threads", run_threads}, {"sizes", run_sizes},
                             {"cold", run_cold},       {"peers", run_peers}};

struct Request {
  Settings settings;
  std::vector<std::string> suites;
  std::string json_file;
  bool markdown = false;

  [[nodiscard]] bool wants(const std::string& suite) const {
    return suites.empty() || std::ranges::count(suites, "all") > 0 ||
           std::ranges::count(suites, suite) > 0;
  }
};

void print_heading(const Machine& machine, const Request& request) {
  const Settings& settings = request.settings;
  const char* bullet = request.markdown ? "- " : "";
  fmt::print("{}{}\n", bullet, to_text(machine));
  fmt::print(
      "{0}client on core {1}, node on core {2} (-1: any); polling rows spin {3} us before they "
      "sleep, cold rows {4} us, sleeping rows 0 us\n",
      bullet, settings.client_core, settings.node_core, kPollingSpinUs, kDefaultSpinUs);
  fmt::print("{}floors and subjects take turns; each figure is the median of its rounds' figures\n",
             bullet);
  if (machine.load > Machine::kBusyLoad) {
    fmt::print(
        "{}this machine is busy (load above {:.1f}): rates, means and tails say more about that\n",
        bullet, Machine::kBusyLoad);
  }
  std::fflush(stdout);
}

std::string to_json(const Machine& machine, const std::vector<Table>& tables) {
  std::string out = fmt::format("{{\"machine\": {},\n \"suites\": [", to_json(machine));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    out += (i == 0 ? "\n  " : ",\n  ") + to_json(tables[i]);
  }
  return out + "]}\n";
}

Status run(const Request& request) {
  // Before the first thread: it forks.
  GODWIT_TRY(floors::ForkServer floors, floors::ForkServer::start());
  const Machine machine = describe_machine();
  print_heading(machine, request);
  std::vector<Table> tables;
  Status failed;
  for (const Suite& suite : kSuites) {
    if (!request.wants(suite.name)) continue;
    auto table = suite.run(request.settings, floors);
    if (!table) {
      // The others still have something to say; the exit status tells that this one did not.
      failed = fail(table.error().code, "{}: {}", suite.name, table.error().message);
      fmt::print("\n{}{}: not measured: {}\n", request.markdown ? "## " : "", suite.name,
                 table.error().message);
      continue;
    }
    fmt::print("\n{}{}: {}\n\n{}", request.markdown ? "## " : "", table->suite, table->title,
               to_text(*table));
    std::fflush(stdout);
    tables.push_back(*std::move(table));
  }
  GODWIT_CHECK(write_file(request.json_file, to_json(machine, tables)));
  fmt::print("\nAll rows are in {}.\n", request.json_file);
  return failed;
}

int run_main(int argc, char** argv) {
  Request request;
  request.json_file = default_file("bench.json");
  CLI::App app("Measures Godwit's calls on this machine, each beside the floor it stands on.");
  std::vector<std::string> known{"all"};
  for (const Suite& suite : kSuites) known.emplace_back(suite.name);
  app.add_option("suite", request.suites, "warm, pipelined, threads, sizes, cold, peers, or all")
      ->check(CLI::IsMember(known));
  bool quick = false;
  auto* seconds = app.add_option("--seconds", request.settings.seconds, "time for each suite")
                      ->check(CLI::Range(0.1, 3600.0))
                      ->capture_default_str();
  app.add_flag("--quick", quick, "rough figures within seconds");
  app.add_option("--json", request.json_file, "where all rows go")->capture_default_str();
  app.add_flag("--markdown", request.markdown, "headings as in a Markdown page");
  app.add_option("--client-core", request.settings.client_core, "-1: not pinned")
      ->capture_default_str();
  app.add_option("--node-core", request.settings.node_core, "-1: not pinned")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  request.settings.quick = quick;
  if (quick && seconds->count() == 0) request.settings.seconds = 2;
  const Status done = run(request);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "godwit-bench: {}\n", done.error().message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == godwit::bench::kServeCommand) {
    return godwit::bench::serve_node(argc, argv);
  }
  return godwit::bench::run_main(argc, argv);
}
