// A fleet in two private networks, each behind NAT and a firewall, with a relay between them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/folder_for_test.hpp"
#include "lab_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr const char* kRelay = "10.77.0.1:7443";

// On a host of the lab: makes it the gateway of a private network NET.0/24, and runs a program on
// the one machine there. What comes from outside unasked is dropped, and so is what goes to other
// private networks: the lab knows no such host.
constexpr const char* kBehindNat = R"(
set -e
net=$1 pid_file=$2
shift 2
ip link add v0 type veth peer name v1
ip addr add $net.1/24 dev v0
ip link set v0 up
ip route add default dev lab0
echo 1 > /proc/sys/net/ipv4/ip_forward
nft -f - <<'RULES'
table ip lab {
  chain nat {
    type nat hook postrouting priority 100;
    oifname "lab0" masquerade
  }
  chain wall {
    type filter hook forward priority 0; policy drop;
    iifname "v0" accept
    ct state established,related accept
  }
}
RULES
unshare -nm sh -c '
  net=$1 pid_file=$2
  shift 2
  echo $$ > $pid_file.new
  mv $pid_file.new $pid_file
  until ip link show v1 > /dev/null 2>&1; do sleep 0.01; done
  mount -t sysfs none /sys
  ip link set lo up
  ip addr add $net.2/24 dev v1
  ip link set v1 up
  ip route add default via $net.1
  exec "$@"' inside $net $pid_file "$@" &
until test -e $pid_file; do sleep 0.01; done
ip link set v1 netns $(cat $pid_file)
wait $!
)";

bool can_run(const char* program) {
  return std::system(("command -v " + std::string(program) + " > /dev/null").c_str()) == 0;
}

class FleetBehindNat : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may make networks with NAT";
    for (const char* program : {"ip", "nft", "unshare", "nsenter"}) {
      if (!can_run(program)) GTEST_SKIP() << program << " is not installed";
    }
  }

  std::optional<Process> start(Lab& lab, std::uint32_t host,
                               const std::vector<std::string>& command, const Captured& output) {
    auto process = lab.run(host, command,
                           {.environment = {"GODWIT_RUNTIME_DIR=" + (folder_ / "run").string(),
                                            "XDG_CACHE_HOME=" + (folder_ / "cache").string()},
                            .output_fd = output.fd(),
                            .error_fd = output.fd()});
    EXPECT_TRUE(process) << process.error().message;
    if (!process) return std::nullopt;
    return *std::move(process);
  }
  static void wait_for(const Captured& output, const char* text) {
    const auto until = steady_clock::now() + kTestLimit;
    while (output.text().find(text) == std::string::npos && steady_clock::now() < until) {
      ::poll(nullptr, 0, 5);
    }
    EXPECT_THAT(output.text(), HasSubstr(text));
  }
  std::optional<Process> start_relay(Lab& lab) {
    const Captured output;
    auto relay = start(lab, 0,
                       {GODWIT_EXECUTABLE, "relay", "--listen", kRelay, "--key-file",
                        (folder_ / "relay.key").string()},
                       output);
    wait_for(output, "ready");
    return relay;
  }
  // In the private network behind host N, at 192.168.N.2.
  std::optional<Process> start_node(Lab& lab, std::uint32_t host, const std::string& name) {
    const Captured output;
    const std::string net = fmt::format("192.168.{}", host);
    auto node = start(lab, host,
                      {"sh", "-c", kBehindNat, "gateway", net, pid_file(host), GODWIT_EXECUTABLE,
                       "node", "--name", name, "--listen", "tcp:" + net + ".2:7400", "--relay",
                       kRelay, "--key-file", key()},
                      output);
    wait_for(output, "ready");
    return node;
  }
  // `godwit ARGUMENTS`, to its end: on the lab's public host 0, or behind host N.
  struct Ran {
    int exit = -1;
    std::string text;
  };
  Ran run(Lab& lab, std::uint32_t host, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GODWIT_EXECUTABLE);
    if (host != 0) {
      std::ifstream file(pid_file(host));
      std::string pid;
      file >> pid;
      arguments.insert(arguments.begin(), {"nsenter", "-t", pid, "-n", "-m"});
    }
    const Captured output;
    auto process = start(lab, host, arguments, output);
    const int exit = process->wait(kTestLimit).value_or(-1);
    return {exit, output.text()};
  }
  Ran add_on(Lab& lab, std::uint32_t from, const char* node, const std::string& via) {
    return run(lab, from,
               {"run", GODWIT_TEST_BUNDLE, "add", "2", "3", "--on", node, "--connect", via,
                "--key-file", key()});
  }
  std::string key() const { return (folder_ / "fleet.key").string(); }
  std::string pid_file(std::uint32_t host) const {
    return (folder_ / fmt::format("pid{}", host)).string();
  }
  // By which transport `node` has a link to `peer`, as it tells itself.
  std::string transport(Lab& lab, const std::string& node, const std::string& peer) {
    const trace::JsonValue status = status_of(lab, node);
    for (const auto& link : status["links"].items()) {
      if (link["peer"].text() == peer) return std::string(link["transport"].text());
    }
    return "no link";
  }
  trace::JsonValue status_of(Lab& lab, const std::string& node) {
    const Ran ran = run(lab, 0,
                        {"status", node, "--json", "--connect", fmt::format("relay:{}", kRelay),
                         "--key-file", key()});
    const auto json = trace::JsonValue::parse(ran.text);
    EXPECT_TRUE(json) << ran.text;
    return json ? (*json)["nodes"].items()[0]["status"] : trace::JsonValue();
  }
  static std::string content(const std::string& file) {
    std::stringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    return all.str();
  }
  // What has come of a file that is replaced when all has.
  [[nodiscard]] std::uintmax_t bytes_under_way(const std::string& name) const {
    std::error_code gone;  // while it is looked at
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string found = entry.path().filename().string();
      if (found != name && found.find(name) != std::string::npos) return entry.file_size(gone);
    }
    return 0;
  }

  TestFolder folder_;
};

TEST_F(FleetBehindNat, MeetsAndMovesObjectsThroughARelayThatMayBeKilled) {
  NETLAB_OR_SKIP(lab, {.hosts = 3, .shape = {.delay = milliseconds(5), .loss = 0.001}});
  const std::string through_relay = fmt::format("relay:{}", kRelay);
  ASSERT_EQ(run(lab, 0, {"key", "new", key()}).exit, 0);
  ASSERT_EQ(run(lab, 0, {"key", "relay", key(), (folder_ / "relay.key").string()}).exit, 0);
  auto relay = start_relay(lab);
  const auto alpha = start_node(lab, 1, "alpha");
  const auto beta = start_node(lab, 2, "beta");

  // Beside alpha, directly; to beta, whose address leads nowhere from there, through the relay.
  Ran ran;
  const auto until = steady_clock::now() + kTestLimit;
  do {  // the nodes find each other first
    ran = add_on(lab, 1, "beta", "tcp:192.168.1.2:7400");
  } while (ran.exit != 0 && steady_clock::now() < until);
  ASSERT_EQ(ran.exit, 0) << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("5"));
  EXPECT_EQ(transport(lab, "alpha", "beta"), "relay");

  // An object of several MB, from behind one wall to behind the other and back out.
  const std::string source = (folder_ / "object").string();
  const std::string copy = (folder_ / "copy").string();
  std::string bytes(8'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 7);
  std::ofstream(source, std::ios::binary) << bytes;
  ran = run(lab, 1,
            {"put", source, "--on", "beta", "--json", "--connect", "tcp:192.168.1.2:7400",
             "--key-file", key()});
  ASSERT_EQ(ran.exit, 0) << ran.text;
  const std::size_t at = ran.text.find("gdw://");
  ASSERT_NE(at, std::string::npos) << ran.text;
  const std::string handle = ran.text.substr(at, 92);
  ran = run(lab, 0, {"get", handle, "-o", copy, "--connect", through_relay, "--key-file", key()});
  ASSERT_EQ(ran.exit, 0) << ran.text;
  EXPECT_TRUE(content(copy) == bytes);

  // Killed while one is under way, and started again: it goes on, and leaves nothing at its home.
  bytes += bytes + bytes;
  std::ofstream(source, std::ios::binary) << bytes;
  ran = run(lab, 2,
            {"put", source, "--on", "beta", "--json", "--connect", "tcp:192.168.2.2:7400",
             "--key-file", key()});
  ASSERT_EQ(ran.exit, 0) << ran.text;
  const std::string large = ran.text.substr(ran.text.find("gdw://"), handle.size());
  const Captured told;
  auto get = start(lab, 0,
                   {GODWIT_EXECUTABLE, "get", large, "-o", (folder_ / "second").string(),
                    "--connect", through_relay, "--key-file", key()},
                   told);
  const auto soon = steady_clock::now() + kTestLimit;
  while (bytes_under_way("second") == 0 && steady_clock::now() < soon) ::poll(nullptr, 0, 1);
  relay->signal(SIGKILL);
  ASSERT_TRUE(relay->wait(kTestLimit));
  EXPECT_GT(bytes_under_way("second"), 0) << "in the middle";
  relay = start_relay(lab);
  EXPECT_EQ(get->wait(kTestLimit).value_or(-1), 0) << told.text();
  EXPECT_TRUE(content((folder_ / "second").string()) == bytes);
  ran = run(lab, 0, {"evict", handle, large, "--connect", through_relay, "--key-file", key()});
  EXPECT_EQ(ran.exit, 0) << ran.text;
  const auto used = [&] { return status_of(lab, "beta")["objects"]["used_bytes"].count(); };
  const auto freed = steady_clock::now() + kTestLimit;
  while (used() != 0 && steady_clock::now() < freed) ::poll(nullptr, 0, 50);
  EXPECT_EQ(used(), 0);

  // Without the relay there is no way: that is said, and soon. With it there is one again.
  relay->signal(SIGKILL);
  ASSERT_TRUE(relay->wait(kTestLimit));
  ran = add_on(lab, 1, "beta", "tcp:192.168.1.2:7400");
  EXPECT_NE(ran.exit, 0);
  EXPECT_THAT(ran.text, HasSubstr("relay:10.77.0.1:7443"));
  relay = start_relay(lab);
  const auto again = steady_clock::now() + kTestLimit;
  do {
    ran = add_on(lab, 1, "beta", "tcp:192.168.1.2:7400");
  } while (ran.exit != 0 && steady_clock::now() < again);
  EXPECT_EQ(ran.exit, 0) << ran.text;
}

}  // namespace
}  // namespace godwit::netlab
