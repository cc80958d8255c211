// The executable with a fleet of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <sstream>

#include "exit.hpp"
#include "process.hpp"
#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

#if defined(__x86_64__)
constexpr const char* kHere = "x86_64";
constexpr const char* kElsewhere = "aarch64";
#else
constexpr const char* kHere = "aarch64";
constexpr const char* kElsewhere = "x86_64";
#endif

constexpr const char* kSource = R"(
#include <poll.h>
#include <unistd.h>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>

std::int64_t add(std::int64_t a, std::int64_t b) { return a + b; }
GODWIT_EXPORT(add, inline_);

double sum(std::span<const double> x) {
  double total = 0;
  for (double value : x) total += value;
  return total;
}
GODWIT_EXPORT(sum);

std::string greet(std::string_view who) { return "hello " + std::string(who); }
GODWIT_EXPORT(greet);

void nothing() {}
GODWIT_EXPORT(nothing);

void fails() { throw std::runtime_error("as it was told"); }
GODWIT_EXPORT(fails);

// Leaves a mark that it runs, then goes on until its caller has given up.
void linger(godwit::Here& here, std::string_view mark) {
  if (std::FILE* file = std::fopen(std::string(mark).c_str(), "w")) std::fclose(file);
  while (!here.cancelled() && here.remaining_ns() > -2'000'000'000) ::poll(nullptr, 0, 1);
}
GODWIT_EXPORT(linger);

// Stays for as long as its mark does.
void overstay(std::string_view mark) {
  const std::string path(mark);
  if (std::FILE* file = std::fopen(path.c_str(), "w")) std::fclose(file);
  for (int i = 0; i < 60'000 && ::access(path.c_str(), F_OK) == 0; ++i) ::poll(nullptr, 0, 1);
}
GODWIT_EXPORT(overstay);

godwit::Next<std::int64_t> wander(godwit::Here& here, std::int64_t steps) {
  return here.continue_at<wander>(here.self(), steps + 1);
}
GODWIT_EXPORT(wander);
)";

class CliFleet : public testing::Test {
 protected:
  Sandbox sandbox_;
  std::string up_output_;

  void up(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "up");
    const Ran ran = sandbox_.run(arguments);
    ASSERT_EQ(ran.exit_code, 0) << ran.output << ran.errors;
    up_output_ = ran.output;
  }
  std::string compile(const std::string& name, const std::vector<std::string>& more = {}) {
    const std::string bundle = sandbox_.file(name + ".gdw");
    std::vector<std::string> arguments{"cc", sandbox_.write(name + ".cpp", kSource), "-o", bundle};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = sandbox_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    return bundle;
  }
  // Of a fleet started with --json.
  pid_t pid_of(const std::string& node) const {
    std::smatch found;
    const std::regex pattern("\"name\": \"" + node + "\", \"pid\": ([0-9]+)");
    if (!std::regex_search(up_output_, found, pattern)) return -1;
    return static_cast<pid_t>(std::stol(found[1]));
  }
  static void expect(const Ran& ran, Exit exit, const std::string& message) {
    EXPECT_EQ(ran.exit_code, static_cast<int>(exit)) << ran.output << ran.errors;
    EXPECT_THAT(ran.errors, HasSubstr(message));
  }
};

std::vector<std::string> host_only() {
  return {"--target", kHere, "--kind", "native"};
}

TEST_F(CliFleet, UpLsRunDown) {
  up({"3", "--json"});
  expect(sandbox_.run({"up", "2"}), Exit::already_exists, "is up with 3 nodes");
  const Ran listed = sandbox_.run({"ls"});
  EXPECT_EQ(listed.exit_code, 0) << listed.errors;
  EXPECT_THAT(listed.output, AllOf(HasSubstr("\nn0 "), HasSubstr("\nn1 "), HasSubstr("\nn2 ")));
  const Ran json = sandbox_.run({"ls", "--json"});
  EXPECT_THAT(json.output, AllOf(HasSubstr(R"("name": "n2")"), HasSubstr(R"("state": "up")"),
                                 HasSubstr(R"("has_jit": )"), HasSubstr(kHere),
                                 HasSubstr(R"("overdue": 0})"), Not(HasSubstr(R"("cpu": "")"))));

  const std::string bundle = compile("kernels", host_only());
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "40", "2", "--on", "n1"}).output, "42\n");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "-40", "-2", "--on", "2"}).output, "-42\n");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "--on", "0", "--", "-1", "2"}).output, "1\n");
  EXPECT_EQ(sandbox_.run({"run", bundle, "sum", "[1, 2.5]", "--on", "n0"}).output, "3.5\n");
  EXPECT_EQ(sandbox_.run({"run", bundle, "greet", "you, there", "--on", "n0"}).output,
            "hello you, there\n");
  EXPECT_EQ(sandbox_.run({"run", bundle, "nothing", "--on", "n0"}).output, "");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "all"}).output,
            "n0: 3\nn1: 3\nn2: 3\n");
  const Ran answered =
      sandbox_.run({"run", bundle, "greet", "a\"b", "--on", "n0", "--json", "--repeat", "50"});
  EXPECT_THAT(answered.output,
              AllOf(HasSubstr(R"("node": "n0")"), HasSubstr(R"("result": "hello a\"b")"),
                    HasSubstr(R"("calls": 50, "latency_us": {"min": )")));
  const Ran source =
      sandbox_.run({"run", sandbox_.file("kernels.cpp"), "add", "1", "2", "--on", "n2", "--time"});
  EXPECT_EQ(source.output, "3\n") << source.errors;
  EXPECT_THAT(source.errors, HasSubstr("s\n"));

  const pid_t pid = pid_of("n1");
  ASSERT_GT(pid, 0);
  const Ran down = sandbox_.run({"down"});
  EXPECT_EQ(down.exit_code, 0) << down.errors;
  EXPECT_EQ(down.output, "3 nodes down\n");
  EXPECT_FALSE(identify(pid)) << "node n1 still runs";
  expect(sandbox_.run({"ls"}), Exit::unreachable, "godwit up 4");
  expect(sandbox_.run({"down"}), Exit::unreachable, "godwit up 4");
  EXPECT_TRUE(std::filesystem::is_empty(sandbox_.path() / "run"));
}

TEST_F(CliFleet, EveryWayACallFailsHasItsExitCode) {
  up({"2", "--json", "--", "--max-hops", "20"});
  const std::string bundle = compile("kernels", host_only());
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", bundle});
    return sandbox_.run(arguments);
  };
  expect(run({"fails", "--on", "n0"}), Exit::app_error, "as it was told");
  expect(run({"add", "1", "2", "--on", "n7"}), Exit::unreachable, "no node 'n7'; there are n0, n1");
  expect(run({"linger", sandbox_.file("mark"), "--on", "n0", "--deadline", "50ms"}), Exit::deadline,
         "deadline");
  expect(run({"wander", "0", "--on", "n0"}), Exit::rejected, "hop");
  const Ran both = run({"fails", "--on", "all", "--json"});
  expect(both, Exit::app_error, "2 of 2 calls failed");
  EXPECT_THAT(both.output, HasSubstr(R"("ending": "app_error")"));

  const std::string lacking = compile(
      "lacking", {"--target", kHere, "--kind", "native", "--needs", "libnowhere-to-be-found.so.7"});
  expect(sandbox_.run({"run", lacking, "add", "1", "2", "--on", "n0"}), Exit::missing_library,
         "libnowhere-to-be-found.so.7");
  const std::string foreign = compile("foreign", {"--target", kElsewhere, "--kind", "native"});
  expect(sandbox_.run({"run", foreign, "add", "1", "2", "--on", "n0"}), Exit::no_slice, kElsewhere);
}

TEST_F(CliFleet, StatusShowsAFunctionThatOutlivesItsDeadline) {
  up({"2", "--json"});
  const std::string bundle = compile("kernels", host_only());
  const std::string mark = sandbox_.file("mark");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "n1"}).output, "3\n");
  expect(sandbox_.run({"run", bundle, "overstay", mark, "--on", "n1", "--deadline", "500ms"}),
         Exit::deadline, "deadline");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(mark); }));
  const Ran one = sandbox_.run({"status", "n1"});
  EXPECT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_THAT(one.output, AllOf(StartsWith("n1  "), HasSubstr("overdue    1\n"),
                                HasSubstr("\nLinks\n"), HasSubstr("overstay  kernels  client"),
                                HasSubstr("\nCode\n"), Not(HasSubstr("n0.sock"))));
  const Ran listed = sandbox_.run({"ls", "--json"});
  EXPECT_THAT(listed.output, AllOf(HasSubstr(R"("overdue": 0})"), HasSubstr(R"("overdue": 1})")));
  std::filesystem::remove(mark);
  ASSERT_TRUE(eventually([&] {
    return sandbox_.run({"status", "1", "--json"}).output.find(R"("overdue": [])") !=
           std::string::npos;
  }));
  const Ran all = sandbox_.run({"status", "--json"});
  EXPECT_THAT(all.output, AllOf(StartsWith(R"({"nodes": [{"node": "n0", "status": {)"),
                                HasSubstr(R"("functions_overdue": 1)")));
  expect(sandbox_.run({"status", "n7"}), Exit::unreachable, "no node 'n7'; there are n0, n1");
}

TEST_F(CliFleet, StatusAndRunTellWhatOtherToolsRead) {
  up({"2"});
  const std::string bundle = compile("kernels", host_only());
  const std::string trace = sandbox_.file("trace.json");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "all", "--trace", trace}).output,
            "n0: 3\nn1: 3\n");
  std::ostringstream text;
  text << std::ifstream(trace).rdbuf();
  EXPECT_TRUE(trace::JsonValue::parse(text.str())) << text.str();
  EXPECT_THAT(text.str(), AllOf(HasSubstr(R"("name":"open bundle")"), HasSubstr(R"("connect")"),
                                HasSubstr(R"("call on n0")"), HasSubstr(R"("call on n1")")));
  expect(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "n0", "--trace", "/no/where"}),
         Exit::bad_file, "cannot write the trace '/no/where'");
  const Ran metrics = sandbox_.run({"status", "--prometheus"});
  EXPECT_EQ(metrics.exit_code, 0) << metrics.errors;
  EXPECT_THAT(metrics.output, AllOf(HasSubstr("godwit_up{node=\"n0\"} 1\n"),
                                    HasSubstr("godwit_calls_taken_total{node=\"n1\"} 1\n"),
                                    HasSubstr("godwit_bundles{node=\"n1\"} 1\n")));
  expect(sandbox_.run({"status", "--prometheus", "--json"}), Exit::usage, "--prometheus");
}

// A process goes on for a moment after the signal that stops it was sent.
bool is_stopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) return line.find("T (stopped)") != std::string::npos;
  }
  return false;
}

TEST_F(CliFleet, StatusTellsOfANodeThatDoesNotAnswer) {
  up({"2", "--json"});
  const pid_t pid = pid_of("n1");
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return is_stopped(pid); }));
  const Ran all = sandbox_.run({"status", "--timeout", "200ms"});
  expect(all, Exit::unreachable, "1 of 2 nodes do not tell their status; the first, n1");
  EXPECT_THAT(all.output, StartsWith("n0  "));
  const Ran metrics = sandbox_.run({"status", "--timeout", "200ms", "--prometheus"});
  expect(metrics, Exit::unreachable, "the first, n1");
  EXPECT_THAT(metrics.output, AllOf(HasSubstr("godwit_up{node=\"n0\"} 1\n"),
                                    HasSubstr("godwit_up{node=\"n1\"} 0\n")));
  EXPECT_THAT(sandbox_.run({"ls"}).output, HasSubstr(" ?  "));
  ::kill(pid, SIGCONT);
}

bool catches_interrupts(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigCgt:")) {
      return (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1U) != 0;
    }
  }
  return false;
}

TEST_F(CliFleet, CtrlCCancelsTheCall) {
  up({"1"});
  const std::string bundle = compile("kernels", host_only());
  const std::string mark = sandbox_.file("mark");
  const auto call = sandbox_.start({"run", bundle, "linger", mark, "--on", "n0"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(mark); }));
  ASSERT_TRUE(catches_interrupts(call->pid()));
  call->signal(SIGINT);
  expect(call->finish(), Exit::cancelled, "cancelled");
}

TEST_F(CliFleet, AKilledNodeIsLostAndTheOthersGoOn) {
  up({"2", "--json"});
  const std::string bundle = compile("kernels", host_only());
  const std::string mark = sandbox_.file("mark");
  const auto call = sandbox_.start({"run", bundle, "linger", mark, "--on", "n0"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(mark); }));
  ASSERT_GT(pid_of("n0"), 0);
  ::kill(pid_of("n0"), SIGKILL);
  expect(call->finish(), Exit::node_lost, "node_lost");
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "n1"}).output, "3\n");
  EXPECT_EQ(sandbox_.run({"down"}).output, "1 node down\n");
}

TEST_F(CliFleet, AFleetWithAKeyWantsToSeeIt) {
  const std::string key = sandbox_.file("fleet.key");
  ASSERT_EQ(sandbox_.run({"key", "new", key}).exit_code, 0);
  up({"2", "--key-file", key, "--fleet", "locked"});
  const Ran listed = sandbox_.run({"ls", "--fleet", "locked"});
  EXPECT_EQ(listed.exit_code, 0) << listed.errors;
  const std::string address = "shm:" + sandbox_.file("run/fleets/locked/n0.sock");
  expect(sandbox_.run({"ls", "--connect", address}), Exit::permission, "key");
  const std::string other = sandbox_.file("other.key");
  ASSERT_EQ(sandbox_.run({"key", "new", other}).exit_code, 0);
  expect(sandbox_.run({"ls", "--connect", address, "--key-file", other}), Exit::permission, "key");
  EXPECT_EQ(sandbox_.run({"ls", "--connect", address, "--key-file", key}).exit_code, 0);
  EXPECT_EQ(sandbox_.run({"down", "--fleet", "locked"}).exit_code, 0);
}

TEST_F(CliFleet, NodesTalkOverTcpIfAsked) {
  up({"2", "--tcp", "--json"});
  EXPECT_THAT(up_output_, HasSubstr("tcp:127.0.0.1:"));
  const std::string bundle = compile("kernels", host_only());
  EXPECT_EQ(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "all"}).output, "n0: 3\nn1: 3\n");
}

TEST_F(CliFleet, AFleetThatCannotStartLeavesNothing) {
  expect(sandbox_.run({"up", "2", "--key-file", sandbox_.file("none.key")}), Exit::bad_file,
         "none.key");
  expect(sandbox_.run({"up", "2", "--", "--no-such-setting", "1"}), Exit::unreachable,
         "--no-such-setting");
  EXPECT_TRUE(std::filesystem::is_empty(sandbox_.path() / "run"));
}

TEST_F(CliFleet, WhatAKilledFleetLeftDoesNotKeepTheNextFromStarting) {
  up({"2", "--json"});
  for (const char* node : {"n0", "n1"}) {
    const pid_t pid = pid_of(node);
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
  }
  ASSERT_TRUE(eventually(
      [&] { return sandbox_.run({"ls"}).errors.find("have all ended") != std::string::npos; }));
  up({"1"});
  EXPECT_EQ(sandbox_.run({"down"}).output, "1 node down\n");
}

TEST_F(CliFleet, ADamagedListOfNodesIsNotThrownAway) {
  up({"1", "--json"});
  const std::filesystem::path list = sandbox_.path() / "run/fleets/default/fleet.toml";
  const std::filesystem::path copy = sandbox_.path() / "copy";
  std::filesystem::copy_file(list, copy);
  std::ofstream(list) << "nodes = [[[";
  expect(sandbox_.run({"up", "1"}), Exit::bad_file, "is damaged");
  expect(sandbox_.run({"down"}), Exit::bad_file, "is damaged");
  EXPECT_TRUE(identify(pid_of("n0"))) << "ended all the same";
  std::filesystem::rename(copy, list);
  EXPECT_EQ(sandbox_.run({"down"}).output, "1 node down\n");
}

}  // namespace
}  // namespace godwit::cli
