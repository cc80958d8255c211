// godwit-floors: prints the floors of this machine, one row each.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "floors/floors.hpp"

namespace {

using namespace godwit;          // NOLINT(google-build-using-namespace): one small program
using namespace godwit::floors;  // NOLINT(google-build-using-namespace)

struct Row {
  std::string name;
  Result<Sample> sample;
};

struct Settings {
  RunOptions run{};
  std::size_t payload_bytes = 64;
  std::size_t window = 64;
};

Row ucp_am(std::string name, UcpAmOptions options, const Settings& settings) {
  options.run = settings.run;
  options.payload_bytes = settings.payload_bytes;
  return {std::move(name), measure_ucp_am(options)};
}

std::vector<Row> measure_all(const Settings& settings) {
  std::vector<Row> rows;
  const auto add = [&](std::string name, const UcpAmOptions& options) {
    rows.push_back(ucp_am(std::move(name), options, settings));
  };
  add("ucp_am posix", {.tls = UcpTls::posix});
  add("ucp_am sysv", {.tls = UcpTls::sysv});
  add("ucp_am tcp lo", {.tls = UcpTls::tcp});
  add("ucp_am tcp lo, peer errors", {.tls = UcpTls::tcp, .peer_errors = true});
  add("ucp_am posix, window", {.tls = UcpTls::posix, .window = settings.window});
  add("ucp_am tcp lo, window", {.tls = UcpTls::tcp, .window = settings.window});
  add("ucp_am posix, sleeping", {.tls = UcpTls::posix, .waiting = Waiting::sleep});
  add("ucp_am tcp lo, sleeping", {.tls = UcpTls::tcp, .waiting = Waiting::sleep});
  for (const std::size_t payload_bytes : {std::size_t{56}, std::size_t{64}}) {
    rows.push_back({fmt::format("shared flag, {} B + flag", payload_bytes),
                    measure_shared_flag({.run = settings.run, .payload_bytes = payload_bytes})});
  }
  const std::size_t message_bytes = settings.payload_bytes + 32;
  for (const auto kind : {SocketKind::unix_stream, SocketKind::tcp}) {
    for (const auto waiting : {Waiting::sleep, Waiting::poll}) {
      rows.push_back({fmt::format("{} socket, {}", kind == SocketKind::tcp ? "tcp" : "unix",
                                  waiting == Waiting::poll ? "spinning" : "blocking"),
                      measure_socket_echo({.run = settings.run,
                                           .kind = kind,
                                           .message_bytes = message_bytes,
                                           .waiting = waiting})});
    }
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Round trips of the mechanisms Godwit stands on, between two pinned processes.");
  app.add_option("--payload", settings.payload_bytes, "bytes after the 32-byte header")
      ->capture_default_str();
  app.add_option("--window", settings.window, "messages in flight in the windowed rows")
      ->capture_default_str();
  app.add_option("--rounds", settings.run.rounds, "round trips per row")->capture_default_str();
  app.add_option("--client-core", settings.run.client_core, "-1: not pinned")
      ->capture_default_str();
  app.add_option("--server-core", settings.run.server_core, "-1: not pinned")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  bool complete = true;
  fmt::print("{:32} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "floor", "p50 us", "p99 us", "p99.9 us",
             "mean us", "rate /s");
  for (const Row& row : measure_all(settings)) {
    if (!row.sample) {
      complete = false;
      fmt::print("{:32} {}\n", row.name, row.sample.error().message);
      continue;
    }
    const Sample& sample = *row.sample;
    fmt::print("{:32} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>12.0f}\n", row.name, sample.p50_us,
               sample.p99_us, sample.p999_us, sample.mean_us, sample.rate_per_s);
  }
  return complete ? EXIT_SUCCESS : EXIT_FAILURE;
}
