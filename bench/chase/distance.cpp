#include "chase/distance.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/fail.hpp"
#include "chase/course.hpp"
#include "lab_node.hpp"

namespace godwit::bench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::uint32_t kNodes = 4;
constexpr std::uint64_t kElements = std::uint64_t{1} << 18U;
constexpr seconds kPatience{20};
constexpr std::chrono::minutes kClientLimit{2};
constexpr Enough kEnough{.time_ns = 1'000'000'000, .chases = 2'000};
constexpr Point kFarPoints[] = {{.depth = 8, .in_flight = 1},
                                {.depth = 64, .in_flight = 1},
                                {.depth = 64, .in_flight = 64},
                                {.depth = 64, .in_flight = 1024}};
constexpr Column kFarColumns[] = {Column::get, Column::pipelined, Column::godwit, Column::many};

Result<std::vector<FarLine>> read_lines(const std::string& file, const std::string& delay) {
  std::vector<FarLine> lines;
  for (const Point& point : kFarPoints) lines.push_back({delay, {.point = point}});
  std::ifstream in(file);
  std::size_t point = 0;
  std::size_t column = 0;
  double rate_per_s = 0;
  while (in >> point >> column >> rate_per_s) {
    if (point >= lines.size() || column >= kColumns) break;
    lines[point].line.samples[column] = floors::Sample{.rate_per_s = rate_per_s};
  }
  if (!in.eof()) return fail(ErrorCode::bad_format, "the client's figures cannot be read");
  return lines;
}

Status wait_for_nodes(const Fleet& fleet) {
  const auto until = steady_clock::now() + kPatience;
  while (fleet.nodes().size() < kNodes) {
    if (steady_clock::now() > until) return fail(ErrorCode::deadline, "the nodes did not meet");
    ::poll(nullptr, 0, 5);
  }
  return {};
}

Status measure_far(const std::string& address, const std::string& key_file, std::FILE* out) {
  GODWIT_TRY(const floors::ChaseList list, floors::ChaseList::create(kElements));
  GODWIT_TRY(Fleet fleet, Fleet::join(address, {.key_file = key_file}));
  GODWIT_CHECK(wait_for_nodes(fleet));
  GODWIT_TRY(const auto course, Course::create(std::move(fleet), list.next()));
  for (std::size_t i = 0; i < std::size(kFarPoints); ++i) {
    const Point& point = kFarPoints[i];
    for (const Column column : kFarColumns) {
      const bool for_several = column == Column::pipelined || column == Column::many;
      if (for_several && point.in_flight == 1) continue;
      GODWIT_TRY(const floors::Sample sample, course->measure(column, point, kEnough));
      fmt::print(out, "{} {} {}\n", i, static_cast<int>(column), sample.rate_per_s);
    }
  }
  return {};
}

}  // namespace

int run_far_client(const std::string& address, const std::string& key_file,
                   const std::string& result_file) {
  std::FILE* out = std::fopen(result_file.c_str(), "we");
  if (out == nullptr) return EXIT_FAILURE;
  const Status done = measure_far(address, key_file, out);
  const bool closed = std::fclose(out) == 0;
  if (!done) fmt::print(stderr, "bench_chase: {}\n", done.error().message);
  return done && closed ? EXIT_SUCCESS : EXIT_FAILURE;
}

Result<std::vector<FarLine>> measure_at_distance(std::chrono::microseconds delay) {
  const Folder folder;
  if (!folder.exists()) return fail(ErrorCode::io, "cannot make a folder: {}", errno_text(errno));
  GODWIT_TRY(const auto lab, netlab::Lab::create({.hosts = kNodes + 1, .shape = {.delay = delay}}));
  GODWIT_CHECK(make_key(*lab, folder));
  std::vector<netlab::Process> nodes;
  for (std::uint32_t host = 1; host <= kNodes; ++host) {
    GODWIT_TRY(auto node, start_node(*lab, folder, host));
    nodes.push_back(std::move(node));
  }
  GODWIT_TRY(auto client, lab->run(0, {own_program(), kFarCommand, node_address(*lab, 1),
                                       folder.file("key"), folder.file("figures")}));
  GODWIT_TRY(const int ended, client.wait(kClientLimit));
  if (ended != 0) return fail(ErrorCode::internal, "the client at a distance ended with {}", ended);
  const std::string name = delay.count() >= 1000
                               ? fmt::format("{:g} ms", static_cast<double>(delay.count()) / 1e3)
                               : fmt::format("{} us", delay.count());
  return read_lines(folder.file("figures"), name);
}

}  // namespace godwit::bench
