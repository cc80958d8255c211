// Godwit nodes on hosts of their own.
#include <gmock/gmock.h>
#include <poll.h>

#include <filesystem>

#include "base/folder_for_test.hpp"
#include "lab_test.hpp"
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

}  // namespace
}  // namespace godwit::netlab
