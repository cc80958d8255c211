// bench_storage: filtering records where they are stored, beside pulling them (docs/regions.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "lab_node.hpp"
#include "machine.hpp"
#include "netlab/units.hpp"
#include "output_file.hpp"
#include "storage/archive.hpp"
#include "storage/report.hpp"

namespace godwit::bench {
namespace {

constexpr double kShares[] = {0.0001, 0.01, 0.1, 1};
constexpr std::chrono::minutes kClientLimit{5};

struct Request {
  std::uint64_t mb = 256;
  std::size_t nodes = 1;
  std::size_t rounds = 3;
  std::size_t chunk_kb = 256;
  std::size_t in_flight = 16;
  std::vector<std::string> transports{"tcp", "shm"};
  std::string folder;  // for the files; empty: a temporary one
  std::string json_file;
  std::string rate;  // of an emulated link: measures over that instead
  std::string delay = "100us";
  std::string join;  // a fleet that is up already
  std::string key_file;
  std::string path_name;
};

std::uint32_t bound_of(double share) {
  return static_cast<std::uint32_t>(share * static_cast<double>(UINT32_MAX));
}

// The round in the middle, by time; every round's answer was checked.
Asked median(std::vector<Asked> rounds) {
  std::ranges::sort(rounds, {}, &Asked::seconds);
  return rounds[rounds.size() / 2];
}

Result<StorageLine> measure(const Archive& archive, double share, const Request& request) {
  const std::uint32_t bound = bound_of(share);
  const storage::Summary expected = archive.expected(bound);
  std::array<std::vector<Asked>, kWays> rounds;
  for (std::size_t round = 0; round < request.rounds; ++round) {
    for (std::size_t way = 0; way < kWays; ++way) {
      GODWIT_TRY(Asked asked, archive.ask(static_cast<Way>(way), bound));
      if (asked.summary != expected) {
        return fail(ErrorCode::internal, "{} records match in place of {}, or others do",
                    asked.summary.count, expected.count);
      }
      rounds[way].push_back(asked);
    }
  }
  StorageLine line{.share = share};
  for (std::size_t way = 0; way < kWays; ++way) line.ways[way] = median(std::move(rounds[way]));
  return line;
}

Result<std::vector<StorageLine>> measure_fleet(Fleet& fleet, const std::string& path,
                                               const Request& request) {
  const std::uint64_t records = (request.mb << 20U) / sizeof(storage::Record);
  GODWIT_TRY(const auto archive, Archive::create(fleet, records,
                                                 {.chunk_bytes = request.chunk_kb << 10U,
                                                  .in_flight = request.in_flight}));
  GODWIT_TRY(const Asked warm_up, archive->ask(Way::at_data, 0));
  static_cast<void>(warm_up);
  std::vector<StorageLine> lines;
  for (const double share : kShares) {
    GODWIT_TRY(StorageLine line, measure(*archive, share, request));
    line.path = path;
    lines.push_back(std::move(line));
  }
  return lines;
}

Status report(const Request& request, std::span<const StorageLine> lines) {
  fmt::print("{}\n", to_text(lines));
  return write_file(
      request.json_file,
      fmt::format("{{\"machine\": {},\n\"mib\": {}, \"nodes\": {},\n\"lines\": {}}}\n",
                  to_json(describe_machine()), request.mb, request.nodes, to_json(lines)));
}

Status run_here(const Request& request) {
  fmt::print("{}\n", to_text(describe_machine()));
  fmt::print(
      "{} MiB of 64-byte records in files of {} nodes without a JIT; medians of {} rounds; "
      "pulled {} KiB at a time, {} in flight\n\n",
      request.mb, request.nodes, request.rounds, request.chunk_kb, request.in_flight);
  std::vector<StorageLine> lines;
  for (const std::string& transport : request.transports) {
    const Folder folder;
    const std::string files = request.folder.empty() ? folder.path().string() : request.folder;
    GODWIT_TRY(
        Fleet fleet,
        Fleet::local(request.nodes,
                     {.transport = transport == "tcp" ? LocalTransport::tcp : LocalTransport::shm,
                      .node_arguments = {"--region-dir=" + files, "--jit=off"}}));
    GODWIT_TRY(auto some, measure_fleet(fleet, transport, request));
    std::ranges::move(some, std::back_inserter(lines));
  }
  return report(request, lines);
}

// On a host of the lab, started by run_far().
Status run_joined(const Request& request) {
  GODWIT_TRY(Fleet fleet, Fleet::join(request.join, {.key_file = request.key_file}));
  GODWIT_TRY(const auto lines, measure_fleet(fleet, request.path_name, request));
  return report(request, lines);
}

Status run_far(const Request& request) {
  const Folder folder;
  if (!folder.exists()) return fail(ErrorCode::io, "cannot make a folder: {}", errno_text(errno));
  netlab::LinkShape shape;
  GODWIT_TRY(shape.rate_bytes_per_s, netlab::parse_rate(request.rate));
  GODWIT_TRY(shape.delay, netlab::parse_time(request.delay));
  shape.queue_limit_bytes = std::uint64_t{4} << 20U;
  GODWIT_TRY(const auto lab, netlab::Lab::create({.hosts = 2, .shape = shape}));
  GODWIT_CHECK(make_key(*lab, folder));
  GODWIT_TRY(const auto node,
             start_node(*lab, folder, 1, {"--region-dir", folder.path().string(), "--jit=off"}));
  const std::string path_name = fmt::format("{}, {}", request.rate, request.delay);
  GODWIT_TRY(auto client,
             lab->run(0, {own_program(), "--join", node_address(*lab, 1), "--key-file",
                          folder.file("key"), "--path-name", path_name, "--json",
                          std::filesystem::absolute(request.json_file).string(), "--mb",
                          std::to_string(request.mb), "--rounds", std::to_string(request.rounds),
                          "--chunk-kb", std::to_string(request.chunk_kb), "--in-flight",
                          std::to_string(request.in_flight)}));
  GODWIT_TRY(const int ended, client.wait(kClientLimit));
  if (ended != 0) return fail(ErrorCode::internal, "the client ended with {}", ended);
  return {};
}

int run_main(int argc, char** argv) {
  Request request;
  request.json_file = default_file("storage.json");
  CLI::App app("Filters records where they are stored, beside pulling them.");
  app.add_option("--mb", request.mb, "MiB of records")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  app.add_option("--nodes", request.nodes, "that store them")->check(CLI::Range(1, 16));
  app.add_option("--rounds", request.rounds, "of each share")->check(CLI::Range(1, 25));
  app.add_option("--chunk-kb", request.chunk_kb, "KiB of one get")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  app.add_option("--in-flight", request.in_flight, "gets at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--transport", request.transports, "tcp, shm")
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option("--folder", request.folder, "for the files; a temporary one if not given")
      ->check(CLI::ExistingDirectory);
  app.add_option("--json", request.json_file, "where all figures go")->capture_default_str();
  app.add_option("--rate", request.rate,
                 "of a link between two hosts made by netlab (1Gbit); measures over that instead");
  app.add_option("--delay", request.delay, "of that link, one way")->capture_default_str();
  app.add_option("--join", request.join, "a fleet to measure, in place of one started here");
  app.add_option("--key-file", request.key_file, "of that fleet");
  app.add_option("--path-name", request.path_name, "what the table calls the way to it");
  CLI11_PARSE(app, argc, argv);
  const Status done = !request.join.empty()   ? run_joined(request)
                      : !request.rate.empty() ? run_far(request)
                                              : run_here(request);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_storage: {}\n", done.error().message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  return godwit::bench::run_main(argc, argv);
}
