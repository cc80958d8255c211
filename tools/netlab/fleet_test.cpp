// Godwit nodes on hosts of their own.
#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/folder_for_test.hpp"
#include "godwit/bundle.hpp"
#include "godwit/fleet_exchange.hpp"
#include "lab_test.hpp"
#include "node/walkers_for_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr const char* kAlpha = "tcp:10.77.0.1:7400";

// Nodes that share a key, and files that go away with the test.
class FleetInALab : public testing::Test {
 protected:
  std::optional<Process> start(Lab& lab, std::uint32_t host, std::vector<std::string> arguments,
                               const Captured& output) {
    arguments.insert(arguments.begin(), GODWIT_EXECUTABLE);
    auto process = lab.run(host, arguments,
                           {.environment = {"GODWIT_RUNTIME_DIR=" + (folder_ / "run").string(),
                                            "XDG_CACHE_HOME=" + (folder_ / "cache").string()},
                            .output_fd = output.fd()});
    EXPECT_TRUE(process) << process.error().message;
    if (!process) return std::nullopt;
    return *std::move(process);
  }
  // `godwit ARGUMENTS` on host 0, to its end.
  std::string run(Lab& lab, const std::vector<std::string>& arguments) {
    const Captured output;
    auto process = start(lab, 0, arguments, output);
    EXPECT_EQ(process->wait(kTestLimit).value_or(-1), 0) << output.text();
    return output.text();
  }
  std::optional<Process> start_node(Lab& lab, std::uint32_t host, const std::string& name) {
    const Captured output;
    std::vector<std::string> arguments{
        "node",       "--name", name, "--listen", "tcp:" + lab.address(host) + ":7400",
        "--key-file", key()};
    if (host != 0) arguments.insert(arguments.end(), {"--join", kAlpha});
    auto node = start(lab, host, arguments, output);
    const auto until = steady_clock::now() + kTestLimit;
    while (!output.text().starts_with("ready") && steady_clock::now() < until) {
      ::poll(nullptr, 0, 5);
    }
    EXPECT_THAT(output.text(), HasSubstr("ready"));
    return node;
  }
  std::string key() const { return (folder_ / "fleet.key").string(); }

  TestFolder folder_;
};

TEST_F(FleetInALab, AFunctionTravelsToAHostAtADistance) {
  NETLAB_OR_SKIP(lab, {.hosts = 2, .shape = {.delay = microseconds(300)}});
  run(lab, {"key", "new", key()});
  const auto alpha = start_node(lab, 0, "alpha");
  const auto beta = start_node(lab, 1, "beta");
  const std::string json =
      run(lab, {"run", GODWIT_TEST_BUNDLE, "add", "2", "3", "--on", "beta", "--repeat", "50",
                "--json", "--connect", kAlpha, "--key-file", key()});
  const auto answer = trace::JsonValue::parse(json);
  ASSERT_TRUE(answer) << json;
  ASSERT_EQ((*answer)["results"].items().size(), 1U);
  const trace::JsonValue& result = (*answer)["results"].items().front();
  EXPECT_EQ(result["result"].count(), 5U);
  EXPECT_GE(result["latency_us"]["min"].number(), 600);  // there and back
  EXPECT_LT(result["latency_us"]["p50"].number(), 200'000);
  const auto counters = lab.counters({.from = 0, .to = 1}).value();
  EXPECT_GT(counters.delivered, 50U);
  EXPECT_EQ(counters.lost + counters.overflown + counters.cut + counters.crowded, 0U);
}

// Connections of a host's to the port that nodes listen at, as a process of that host sees them.
std::size_t connections_to_nodes(pid_t process) {
  std::ifstream table("/proc/" + std::to_string(process) + "/net/tcp");
  std::size_t count = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    words >> number >> local >> remote >> state;
    count += remote.ends_with(":1CE8") && state == "01" ? 1 : 0;  // 7400, established
  }
  return count;
}

TEST_F(FleetInALab, ALargeObjectTakesSeveralConnectionsAndSurvivesLoss) {
  NETLAB_OR_SKIP(lab, {.hosts = 2, .shape = {.delay = microseconds(2'000), .loss = 0.002}});
  run(lab, {"key", "new", key()});
  const auto alpha = start_node(lab, 0, "alpha");
  const auto beta = start_node(lab, 1, "beta");
  std::string bytes(std::size_t{24} << 20, 0);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
  const std::string file = (folder_ / "large").string();
  std::ofstream(file, std::ios::binary) << bytes;

  const Captured output;
  auto put = start(
      lab, 0,
      {"put", file, "--on", "beta", "--name", "large", "--connect", kAlpha, "--key-file", key()},
      output);
  std::size_t most = 0;
  auto ended = put->wait(std::chrono::milliseconds(1));
  for (const auto until = steady_clock::now() + kTestLimit;
       !ended && steady_clock::now() < until;) {
    most = std::max(most, connections_to_nodes(put->pid()));
    ended = put->wait(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(ended.value_or(-1), 0) << output.text();
  EXPECT_GE(most, 4 + 1U) << "four to beta, one to alpha";
  const std::string copy = (folder_ / "copy").string();
  run(lab, {"get", "large", "--output", copy, "--connect", kAlpha, "--key-file", key()});
  std::ifstream in(copy, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), bytes);
  EXPECT_GT(lab.counters({.from = 0, .to = 1}).value().lost, 0U);
}

// On a host of its own, which the nodes cannot know: sends walkers through the fleet, and counts
// those that come back. Returns 0 if all do.
int send_walkers(const std::string& key) {
  constexpr std::uint64_t kWalkers = 500;
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
  };
  const auto code = Bundle::open(GODWIT_TEST_RANKS_BUNDLE);
  if (!code) return complain(code.error());
  const auto walk = code->function<node::Seen(RankOf<node::Walker>)>("walk");
  if (!walk) return complain(walk.error());
  const auto fleet = Fleet::join(kAlpha, {.key_file = key});
  if (!fleet) return complain(fleet.error());
  // The hosts of a lab share a kernel, and with it memory.
  auto ranks = open_ranks(fleet->nodes(), *walk, {.way = Way::tcp});
  if (!ranks) return complain(ranks.error());
  for (std::uint64_t id = 0; id < kWalkers; ++id) {
    ranks->emit({.id = id, .state = node::next_state(id), .steps = 20}, 0);
  }
  const auto report = ranks->run([](const node::Walker&) {});
  if (!report) return complain(report.error());
  std::uint64_t steps = 0;
  for (const node::Seen& seen : report->results) steps += seen.processed;
  return report->processed == kWalkers && steps == 21 * kWalkers ? 0 : 2;
}

TEST_F(FleetInALab, NodesOnSeveralHostsAreRanks) {
  NETLAB_OR_SKIP(lab, {.hosts = 3, .shape = {.delay = microseconds(300)}});
  run(lab, {"key", "new", key()});
  const auto alpha = start_node(lab, 0, "alpha");
  const auto beta = start_node(lab, 1, "beta");
  auto program = lab.fork(2, [this] { return send_walkers(key()); });
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->wait(kTestLimit).value_or(-1), 0);
  EXPECT_GT(lab.counters({.from = 0, .to = 1}).value().delivered, 50U);
}

}  // namespace
}  // namespace godwit::netlab
