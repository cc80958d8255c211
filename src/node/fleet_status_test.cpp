// Looking into nodes from outside: their status, and functions that outlive their deadlines.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "code/native/runtime_directory.hpp"
#include "node/fleet_for_test.hpp"
#include "node/node.hpp"
#include "node/places.hpp"
#include "trace/json_value.hpp"

namespace godwit::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using trace::JsonValue;

// Lines that contain `text`.
std::size_t count_lines(const std::vector<std::string>& lines, const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : lines) count += line.find(text) != std::string::npos ? 1 : 0;
  return count;
}

TEST(FleetStatus, AFunctionPastItsDeadlineIsOverdueUntilItReturns) {
  const auto directory = make_runtime_directory().value();
  std::mutex mutex;
  std::vector<std::string> lines;
  const auto logged = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    return count_lines(lines, text);
  };
  trace::Log log = trace::Log::create({.sink = [&](std::string_view line) {
                     const std::lock_guard lock(mutex);
                     lines.emplace_back(line);
                   }}).value();
  Settings settings;
  settings.name = "watched";
  settings.runtime_dir = directory.path().string();
  settings.listen = {node_address(directory.path(), "watched")};
  settings.jit = "off";
  auto node = Node::start(settings, log);
  ASSERT_TRUE(node) << node.error().message;
  auto fleet = Fleet::join(settings.listen.front());
  ASSERT_TRUE(fleet) << fleet.error().message;
  const NodeHandle there = fleet->node(0);

  const std::string file = (directory.path() / "return").string();
  const auto hold = kernels().function<void(std::string_view)>("hold").value();
  ASSERT_TRUE(kernels().function<Add>("add").value().on(there)(1, 1).get()) << "the code is there";
  const auto outcome = hold.on(there).within(milliseconds(300))(file).get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().ending, Ending::deadline);

  EXPECT_TRUE(eventually([&] { return logged("past its deadline: it keeps a worker") > 0; }));
  const JsonValue during = status_of(*fleet, there);
  EXPECT_EQ(during["calls"]["overdue"].count(), 1U);
  ASSERT_EQ(during["overdue"].items().size(), 1U);
  EXPECT_EQ(during["overdue"].items()[0]["function"].text(), "hold");
  EXPECT_EQ(during["overdue"].items()[0]["bundle"].text(), "kernels");
  EXPECT_EQ(during["overdue"].items()[0]["caller"].text(), "client");
  EXPECT_EQ(during["counters"]["functions_overdue"].count(), 1U);
  EXPECT_EQ(during["counters"]["functions_overdue_now"].count(), 1U);

  std::ofstream(file) << "now";
  EXPECT_TRUE(eventually([&] {
    return logged(
               "function hold of 'kernels', called by client, "
               "returned after") > 0;
  }));
  const JsonValue after = status_of(*fleet, there);
  EXPECT_EQ(after["calls"]["overdue"].count(), 0U);
  EXPECT_EQ(after["overdue"].items().size(), 0U);
  EXPECT_EQ(after["counters"]["functions_overdue"].count(), 1U);
  EXPECT_EQ(after["counters"]["functions_overdue_now"].count(), 0U);
  EXPECT_EQ(logged("past its deadline: it keeps a worker"), 1U) << "told once";
}

TEST(FleetStatus, TellsOfLinksAndCodeOnEveryTransport) {
  for (const LocalTransport transport : {LocalTransport::shm, LocalTransport::tcp}) {
    LocalOptions options;
    options.transport = transport;
    Fleet fleet = local(2, options);
    ASSERT_TRUE(kernels().function<Add>("add").value().on(fleet.node(1))(1, 1).get());
    const auto all = fleet.status(fleet.nodes());
    ASSERT_EQ(all.size(), 2U);
    const JsonValue status = status_of(fleet, fleet.node(1));
    EXPECT_EQ(status["name"].text(), "n1");
    EXPECT_EQ(status["id"].text(), JsonValue::parse(*all[1]).value()["id"].text());
    EXPECT_GT(status["pid"].count(), 1U);
    EXPECT_EQ(status["cpu"].text(), fleet.describe().at(1).cpu);
    bool linked = false;
    for (const JsonValue& link : status["links"].items()) {
      linked = linked || link["peer"].text() == "client";
      EXPECT_EQ(link["transport"].text(), transport == LocalTransport::shm ? "shm" : "tcp");
    }
    EXPECT_TRUE(linked);
    ASSERT_EQ(status["code"]["bundles"].items().size(), 1U);
    const JsonValue& bundle = status["code"]["bundles"].items()[0];
    EXPECT_EQ(bundle["tier"].text(), "native");
    EXPECT_EQ(bundle["state"].text(), "ready");
    EXPECT_EQ(bundle["calls"].count(), 1U);
    EXPECT_GT(status["workers"]["limit"].count(), 0U);
  }
}

TEST(FleetStatus, AskingTooOftenIsRefused) {
  const Fleet fleet = local(1);
  const std::vector<NodeHandle> often(100, fleet.node(0));
  std::size_t refused = 0;
  for (const auto& answer : fleet.status(often)) {
    if (answer) continue;
    EXPECT_EQ(answer.error().code, ErrorCode::overload) << answer.error().message;
    ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 100U);
}

// A process goes on for a moment after the signal that stops it was sent.
bool is_stopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end, 3) == ") T";
}

TEST(FleetStatus, ANodeThatDoesNotAnswerIsToldApartFromOneThatIsGone) {
  Fleet fleet = local(2);
  const NodeHandle stopped = fleet.node(0);
  const NodeHandle killed = fleet.node(1);
  const auto pid = static_cast<pid_t>(status_of(fleet, stopped)["pid"].count());
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return is_stopped(pid); }));
  const auto silent = fleet.status(stopped, milliseconds(50));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::deadline);
  ASSERT_TRUE(fleet.kill(killed));
  const auto gone = fleet.status(killed);
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().code == ErrorCode::unreachable ||
              gone.error().code == ErrorCode::node_lost)
      << gone.error().message;
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_TRUE(fleet.status(stopped)) << "late answers confuse nobody";
}

}  // namespace
}  // namespace godwit::node
