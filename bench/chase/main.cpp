// bench_chase: following a list that lies across nodes, by gets, by hand-written forwarding and by
// travelling code (docs/benchmarks.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "calls.hpp"
#include "chase/course.hpp"
#include "chase/distance.hpp"
#include "chase/report.hpp"
#include "floors/fork_server.hpp"
#include "interleave.hpp"
#include "machine.hpp"
#include "output_file.hpp"

namespace godwit::bench {
namespace {

struct Request {
  Extent extent = Extent::usual;
  unsigned log2_elements = 26;
  std::size_t rounds = 3;
  std::int64_t spin_us = 50;  // of nodes and client, the default of both
  std::string json_file;
  std::string svg_file;
  std::string transport;           // only this one
  std::vector<std::size_t> nodes;  // only these
  std::vector<unsigned> delays_us;
};

std::vector<Column> columns_of(const Point& point) {
  std::vector<Column> columns{Column::get};
  if (point.in_flight > 1) columns.push_back(Column::pipelined);
  columns.push_back(Column::ucp_am);
  columns.push_back(Column::godwit);
  if (point.in_flight > 1) columns.push_back(Column::many);
  if (point.transport == LocalTransport::shm && point.in_flight == 1) {
    columns.push_back(Column::own);
    columns.push_back(Column::mapped);
  }
  return columns;
}

Result<Line> measure(const Course& course, const Point& point, const Request& request,
                     floors::ForkServer& floors) {
  const Enough enough{.time_ns = request.extent == Extent::quick ? 40'000'000U : 80'000'000U};
  floors::UcpChaseOptions floor;
  floor.run.rounds = enough.chases;
  floor.run.warm_up_rounds = point.in_flight;
  floor.tls = point.transport == LocalTransport::tcp ? floors::UcpTls::tcp : floors::UcpTls::posix;
  floor.nodes = point.nodes;
  floor.elements = std::uint64_t{1} << request.log2_elements;
  floor.depth = point.depth;
  floor.window = point.in_flight;
  floor.enough_ns = enough.time_ns;
  std::vector<Measure> contenders;
  const std::vector<Column> columns = columns_of(point);
  for (const Column column : columns) {
    contenders.emplace_back([&, column]() -> Result<Sample> {
      if (column != Column::ucp_am) return course.measure(column, point, enough);
      let_pollers_sleep();
      return floors.measure(floor);
    });
  }
  GODWIT_TRY(const auto samples,
             interleave(contenders, {.seconds = 0, .min_rounds = request.rounds}));
  Line line{.point = point};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    line.samples[static_cast<std::size_t>(columns[i])] = samples[i];
  }
  return line;
}

Result<std::unique_ptr<Course>> make_course(const Request& request, const Point& point,
                                            const floors::ChaseList& list) {
  LocalOptions options;
  options.transport = point.transport;
  options.node_arguments = {fmt::format("--spin-us={}", request.spin_us)};
  options.client.spin_us = request.spin_us;
  GODWIT_TRY(Fleet fleet, Fleet::local(point.nodes, options));
  return Course::create(std::move(fleet), list.next());
}

bool is_wanted(const Request& request, const Point& point) {
  const char* transport = point.transport == LocalTransport::tcp ? "tcp" : "shm";
  const bool among = request.nodes.empty() || std::ranges::count(request.nodes, point.nodes) > 0;
  return among && (request.transport.empty() || request.transport == transport);
}

Result<std::vector<Line>> measure_all(const Request& request, floors::ForkServer& floors) {
  GODWIT_TRY(const floors::ChaseList list,
             floors::ChaseList::create(std::uint64_t{1} << request.log2_elements));
  std::vector<Line> lines;
  std::unique_ptr<Course> course;
  Point fleet{.nodes = 0};
  for (const Point& point : points_of(request.extent)) {
    if (!is_wanted(request, point)) continue;
    if (point.nodes != fleet.nodes || point.transport != fleet.transport) {
      course.reset();  // its cores first
      GODWIT_TRY(course, make_course(request, point, list));
      fleet = point;
    }
    GODWIT_TRY(const Line line, measure(*course, point, request, floors));
    lines.push_back(line);
    fmt::print(stderr, "\r{} points measured", lines.size());
  }
  fmt::print(stderr, "\r{:30}\r", "");
  return lines;
}

Status run_here(const Request& request) {
  GODWIT_TRY(floors::ForkServer floors, floors::ForkServer::start());  // before the first thread
  const Machine machine = describe_machine();
  fmt::print("{}\n", to_text(machine));
  fmt::print(
      "us per step; 2^{} elements in blocks over the nodes, all on this machine; contenders "
      "take turns, medians of {} rounds\n\n",
      request.log2_elements, request.rounds);
  GODWIT_TRY(const std::vector<Line> lines, measure_all(request, floors));
  fmt::print("{}\n", to_text(lines));
  GODWIT_CHECK(write_file(request.json_file, fmt::format("{{\"machine\": {},\n\"chases\": {}}}\n",
                                                         to_json(machine), to_json(lines))));
  GODWIT_CHECK(write_file(request.svg_file, to_svg(lines)));
  fmt::print("All figures are in {}, charts in {}.\n", request.json_file, request.svg_file);
  return {};
}

Status run_far(const Request& request) {
  std::vector<FarLine> lines;
  for (const unsigned delay_us : request.delays_us) {
    GODWIT_TRY(const auto far, measure_at_distance(std::chrono::microseconds(delay_us)));
    lines.insert(lines.end(), far.begin(), far.end());
  }
  fmt::print(
      "us per step; 2^18 elements over 4 nodes, each on a host of its own, and a client on "
      "another\n\n{}",
      to_text(lines));
  return {};
}

int run_main(int argc, char** argv) {
  Request request;
  request.json_file = default_file("chase.json");
  request.svg_file = default_file("chase.svg");
  bool quick = false;
  bool full = false;
  CLI::App app("Follows a list that lies across nodes, in the ways there are.");
  app.add_flag("--quick", quick, "four points and 2^20 elements");
  app.add_flag("--full", full, "every depth, load and number of nodes")->excludes("--quick");
  auto* elements = app.add_option("--elements", request.log2_elements, "of the list, as log2")
                       ->check(CLI::Range(10U, 30U))
                       ->capture_default_str();
  app.add_option("--rounds", request.rounds, "of each point")->check(CLI::Range(1, 25));
  app.add_option("--spin-us", request.spin_us, "how long nodes and client poll before they sleep")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--transport", request.transport, "only this one")
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option("--nodes", request.nodes, "only these numbers of nodes");
  app.add_option("--json", request.json_file, "where all figures go")->capture_default_str();
  app.add_option("--svg", request.svg_file, "where the charts go")->capture_default_str();
  app.add_option("--distance", request.delays_us,
                 "us of delay one way, between hosts made by netlab; measures that instead");
  CLI11_PARSE(app, argc, argv);
  request.extent = full ? Extent::full : quick ? Extent::quick : Extent::usual;
  if (quick && elements->count() == 0) request.log2_elements = 20;
  const Status done = request.delays_us.empty() ? run_here(request) : run_far(request);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_chase: {}\n", done.error().message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == godwit::bench::kFarCommand) {
    return godwit::bench::run_far_client(argv[2], argv[3], argv[4]);
  }
  return godwit::bench::run_main(argc, argv);
}
