// netlab: runs a command in a network of its own making. See `netlab --help` and docs/netlab.md.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "netlab/lab.hpp"
#include "netlab/measure.hpp"
#include "netlab/units.hpp"

namespace godwit::netlab {
namespace {

constexpr int kUsage = 2;
constexpr int kCannot = 125;  // as env, timeout and nohup have it
constexpr std::chrono::milliseconds kWaitSlice{60'000};

constexpr const char* kFooter =
    "Hosts are numbered from 0; host N has the address 10.77.0.(N+1). A host has its own\n"
    "network, processes and loopback; the files are this machine's. COMMAND runs on host 0,\n"
    "and its exit code is netlab's; 125 says that netlab itself failed. When it ends, so does\n"
    "everything on the hosts. Needs root, or user namespaces and a usable /dev/net/tun.\n"
    "\n"
    "Every process has in its environment\n"
    "  GODWIT_NETLAB_HOSTS    all addresses, separated by commas\n"
    "  GODWIT_NETLAB_HOST     the number of its host\n"
    "  GODWIT_NETLAB_ADDRESS  the address of its host\n"
    "\n"
    "Times are 300us, 5ms, 0.5s; fractions 0.1% or 0.001; rates 1Gbit, 100Mbit (bits) or 10MB\n"
    "(bytes per second); sizes 1500, 64KiB. Delay is one way: a round trip takes twice as long.\n"
    "\n"
    "Examples:\n"
    "  netlab --hosts 4 --delay 300us --loss 0.1% --rate 1Gbit -- bash\n"
    "  netlab --delay 5ms --exec 1 'python3 -m http.server' -- \\\n"
    "    curl -s --retry 9 --retry-connrefused http://10.77.0.2:8000/\n"
    "  netlab --measure";

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: netlab [OPTIONS] -- COMMAND [ARGUMENTS...]\n       netlab --measure\n";
  }
};

struct Arguments {
  std::uint32_t hosts = 2;
  std::string delay = "0";
  std::string jitter = "0";
  std::string loss = "0";
  std::string rate = "0";
  std::string queue = "256KiB";
  std::string spin = "30us";
  bool reorders = false;
  std::uint32_t mtu_bytes = 1500;
  std::uint64_t seed = 1;
  std::vector<std::pair<std::uint32_t, std::string>> extras;
  std::vector<std::string> everywhere;
  bool measure = false;
  std::vector<std::string> command;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.add_option("--hosts", arguments.hosts, "How many hosts")
      ->type_name("N")
      ->check(CLI::Range(1U, kMaxHosts))
      ->capture_default_str();
  const auto text = [&](const char* name, std::string& value, const char* type, const char* what) {
    app.add_option(name, value, what)->type_name(type)->capture_default_str();
  };
  text("--delay", arguments.delay, "TIME", "Each packet takes at least so long");
  text("--jitter", arguments.jitter, "TIME", "and up to so much longer, at random");
  app.add_flag("--reorder", arguments.reorders, "Jitter may let packets overtake each other");
  text("--loss", arguments.loss, "FRACTION", "So many packets are lost, at random");
  text("--rate", arguments.rate, "RATE",
       "Each direction of each pair carries no more; 0: no limit");
  text("--queue", arguments.queue, "SIZE", "waiting for that rate; further packets are dropped");
  app.add_option("--mtu", arguments.mtu_bytes, "Largest packet, in bytes")
      ->type_name("BYTES")
      ->check(CLI::Range(kMinMtuBytes, kMaxMtuBytes))
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "Of loss and jitter")
      ->type_name("NUMBER")
      ->capture_default_str();
  text("--spin", arguments.spin, "TIME", "Poll so long before a packet is due: precision for CPU");
  app.add_option("--exec", arguments.extras,
                 "Before COMMAND starts, start this shell command on host K")
      ->type_name("K CMD");
  app.add_option("--each", arguments.everywhere,
                 "Before COMMAND starts, start this shell command on every host")
      ->type_name("CMD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--measure", arguments.measure, "Measure the emulator itself, run no COMMAND");
}

Result<LabOptions> options_of(const Arguments& arguments) {
  LabOptions options{
      .hosts = arguments.hosts, .seed = arguments.seed, .mtu_bytes = arguments.mtu_bytes};
  GODWIT_TRY(options.shape.delay, parse_time(arguments.delay));
  GODWIT_TRY(options.shape.jitter, parse_time(arguments.jitter));
  GODWIT_TRY(options.shape.loss, parse_fraction(arguments.loss));
  GODWIT_TRY(options.shape.rate_bytes_per_s, parse_rate(arguments.rate));
  GODWIT_TRY(options.shape.queue_limit_bytes, parse_size(arguments.queue));
  options.shape.reorders = arguments.reorders;
  GODWIT_TRY(const std::chrono::nanoseconds spin, parse_time(arguments.spin));
  options.spin = std::chrono::duration_cast<std::chrono::microseconds>(spin);
  return options;
}

RunOptions environment_of(const Lab& lab, std::uint32_t host) {
  std::string all;
  for (std::uint32_t other = 0; other < lab.host_count(); ++other) {
    all += (other == 0 ? "" : ",") + lab.address(other);
  }
  return {.environment = {"GODWIT_NETLAB_HOSTS=" + all, fmt::format("GODWIT_NETLAB_HOST={}", host),
                          "GODWIT_NETLAB_ADDRESS=" + lab.address(host)}};
}

Result<int> run_lab(const Arguments& arguments) {
  GODWIT_TRY(const LabOptions options, options_of(arguments));
  GODWIT_TRY(const auto lab, Lab::create(options));
  std::vector<Process> others;
  const auto start = [&](std::uint32_t host, const std::string& command) -> Status {
    GODWIT_TRY(Process process,
               lab->run(host, {"/bin/sh", "-c", command}, environment_of(*lab, host)));
    others.push_back(std::move(process));
    return {};
  };
  for (const std::string& command : arguments.everywhere) {
    for (std::uint32_t host = 0; host < lab->host_count(); ++host) {
      GODWIT_CHECK(start(host, command));
    }
  }
  for (const auto& [host, command] : arguments.extras) GODWIT_CHECK(start(host, command));
  GODWIT_TRY(Process command, lab->run(0, arguments.command, environment_of(*lab, 0)));
  // Ctrl-C is COMMAND's to act on; everything here ends after it.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  while (true) {
    auto ended = command.wait(kWaitSlice);
    if (ended || ended.error().code != ErrorCode::deadline) return ended;
  }
}

int tell(const Error& error) {
  fmt::print(stderr, "netlab: {}\n", error.message);
  return error.code == ErrorCode::invalid_argument ? kUsage : kCannot;
}

int run(std::vector<std::string> words) {
  Arguments arguments;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) arguments.command.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  CLI::App app(
      "Runs a command in a network of hosts on this machine, with links that have\n"
      "delay, jitter, loss and a limited rate.",
      "netlab");
  declare(app, arguments);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return tell({ErrorCode::invalid_argument, fmt::format("{}; see netlab --help", error.what())});
  }
  if (arguments.measure) {
    const auto options = options_of(arguments);
    const Status measured =
        options ? print_measurements(options->spin) : tl::unexpected(options.error());
    return measured ? 0 : tell(measured.error());
  }
  if (arguments.command.empty()) {
    return tell({ErrorCode::invalid_argument, "no command after --; see netlab --help"});
  }
  const auto code = run_lab(arguments);
  return code ? *code : tell(code.error());
}

}  // namespace
}  // namespace godwit::netlab

int main(int argc, char** argv) {
  return godwit::netlab::run({argv + 1, argv + argc});
}
