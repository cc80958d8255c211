// What an engine says of itself: functions that outlive their deadlines, and its status.
#include "call/status.hpp"

#include <gtest/gtest.h>

#include "call/sim_fleet.hpp"
#include "trace/json_value.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using trace::JsonValue;

class EngineStatus : public testing::Test {
 protected:
  explicit EngineStatus(SimFleet::Shape shape = {}) : fleet_(7, {}, shape) {}

  SimProcess& node() { return *fleet_.at(fleet_.node_process(0)); }
  SimProcess& client() { return *fleet_.at(fleet_.client_process(0)); }
  Record& call(SimFunction function, Duration deadline, std::size_t bundle = 0) {
    return fleet_.call(fleet_.client_process(0), fleet_.node(0), bundle, function, 0, deadline);
  }
  void warm_up() {
    Record& warm = call(work, seconds(10));
    ASSERT_TRUE(fleet_.world().run_until([&] { return warm.ended == 1; }, seconds(10)));
  }
  // Its function waits for a worker until run_held().
  Record& call_held(Duration deadline) {
    node().executor->hold();
    Record& record = call(work, deadline);
    EXPECT_TRUE(fleet_.world().run_until([&] { return node().executor->held() == 1; }, seconds(5)));
    return record;
  }
  bool ran(const Record& record) { return fleet_.executions().contains({record.key, 0}); }
  JsonValue ask() {
    client().statuses.clear();
    client().engine->send_or_dial(fleet_.node(0), {.kind = wire::Kind::ask_status, .id = 77}, {});
    EXPECT_TRUE(fleet_.world().run_until([&] { return !client().statuses.empty(); }, seconds(5)));
    const auto& [id, text] = client().statuses.at(0);
    EXPECT_EQ(id, 77U);
    EXPECT_LE(text.size(), kMaxStatusBytes);
    auto read = JsonValue::parse(text);
    EXPECT_TRUE(read) << read.error().message << "\n" << text;
    return *std::move(read);
  }

  SimFleet fleet_;
};

TEST_F(EngineStatus, AFunctionThatOutlivesItsDeadlineIsListedUntilItEnds) {
  warm_up();
  Record& late = call_held(seconds(2));
  JsonValue during;
  fleet_.while_running = [&] {
    fleet_.world().run_for(milliseconds(1500));
    EXPECT_TRUE(node().engine->overdue().empty()) << "there is time left";
    fleet_.world().run_for(seconds(3));
    EXPECT_EQ(late.outcome.ending, Ending::deadline) << "its caller does not wait for it";
    EXPECT_EQ(node().overdue.size(), 1U) << "told by itself, before anybody asked";
    during = ask();
  };
  node().executor->run_held();

  ASSERT_EQ(node().overdue.size(), 1U);
  const OverdueFunction& first = node().overdue.front();
  EXPECT_EQ(first.function, "work");
  EXPECT_EQ(first.bundle, "sim0");
  EXPECT_EQ(first.caller, client().engine->options().name);
  EXPECT_EQ(first.caller_id, client().engine->options().self);
  EXPECT_GT(first.overdue, Duration(0));
  EXPECT_LE(first.overdue, seconds(1)) << "noticed within a second";
  EXPECT_EQ(during["calls"]["overdue"].count(), 1U);
  ASSERT_EQ(during["overdue"].items().size(), 1U);
  const JsonValue& listed = during["overdue"].items()[0];
  EXPECT_EQ(listed["function"].text(), "work");
  EXPECT_EQ(listed["caller"].text(), first.caller);
  EXPECT_GE(listed["running_ms"].count(), 4500U);
  EXPECT_GE(listed["overdue_ms"].count(), 2400U);

  fleet_.world().run_for(seconds(1));
  ASSERT_EQ(node().overdue_ended.size(), 1U);
  EXPECT_GE(node().overdue_ended.front().running, milliseconds(4500));
  EXPECT_TRUE(node().engine->overdue().empty());
  EXPECT_EQ(node().overdue.size(), 1U) << "told once";
  EXPECT_EQ(node().engine->calls_inside(), 0U);
}

TEST_F(EngineStatus, AFunctionWhoseCallerIsGoneIsStillListed) {
  warm_up();
  call_held(seconds(2));
  const std::string name = client().engine->options().name;
  fleet_.while_running = [&] {
    fleet_.world().crash(fleet_.client_process(0));
    fleet_.world().run_for(seconds(5));
  };
  node().executor->run_held();
  ASSERT_EQ(node().overdue.size(), 1U);
  EXPECT_EQ(node().overdue.front().caller, name);
}

TEST_F(EngineStatus, ACallThatWaitsForAWorkerPastItsDeadlineNeverRuns) {
  warm_up();
  Record& late = call_held(milliseconds(200));
  fleet_.world().run_for(seconds(3));
  EXPECT_TRUE(node().overdue.empty()) << "it has not begun";
  EXPECT_EQ(ask()["calls"]["on_workers"].count(), 1U);
  node().executor->run_held();
  fleet_.world().run_for(seconds(1));
  EXPECT_EQ(late.outcome.ending, Ending::deadline);
  EXPECT_FALSE(ran(late));
  EXPECT_EQ(node().engine->calls_inside(), 0U);
}

TEST_F(EngineStatus, ACancelledCallThatWaitsForAWorkerNeverRuns) {
  warm_up();
  Record& cancelled = call_held(seconds(60));
  client().engine->cancel(*fleet_.outgoing(cancelled));
  fleet_.world().run_for(seconds(1));
  node().executor->run_held();
  fleet_.world().run_for(seconds(1));
  EXPECT_EQ(cancelled.outcome.ending, Ending::cancelled);
  EXPECT_FALSE(ran(cancelled));
  EXPECT_EQ(ask()["links"].items().at(0)["calls_in"].count(), 0U);
}

TEST_F(EngineStatus, TellsOfLinksCreditsCodeAndCalls) {
  warm_up();
  call_held(seconds(60));
  const JsonValue status = ask();
  EXPECT_EQ(status["name"].text(), node().engine->options().name);
  EXPECT_EQ(status["id"].text(), to_hex(fleet_.node(0).value));
  EXPECT_EQ(status["epoch"].count(), node().engine->options().epoch.value);
  EXPECT_FALSE(status["truncated"].truth());
  ASSERT_EQ(status["links"].items().size(), 1U);
  const JsonValue& link = status["links"].items()[0];
  EXPECT_EQ(link["peer"].text(), client().engine->options().name);
  EXPECT_EQ(link["transport"].text(), "sim");
  EXPECT_EQ(link["calls_in"].count(), 1U);
  EXPECT_EQ(link["calls_out"].count(), 0U);
  EXPECT_EQ(link["credits"].count(), fleet_.shape().credits);
  ASSERT_EQ(status["code"]["bundles"].items().size(), 1U);
  const JsonValue& bundle = status["code"]["bundles"].items()[0];
  EXPECT_EQ(bundle["name"].text(), "sim0");
  EXPECT_EQ(bundle["id"].text(), fleet_.bundle(0).id().hex());
  EXPECT_EQ(bundle["state"].text(), "ready");
  EXPECT_EQ(bundle["calls"].count(), 2U);
  EXPECT_EQ(bundle["calls_inside"].count(), 1U);
  EXPECT_EQ(status["code"]["memory_bytes"].count(), node().store->memory_bytes());
  EXPECT_EQ(status["code"]["budget_bytes"].count(), fleet_.shape().code_budget_bytes);
  EXPECT_EQ(status["counters"]["calls_taken"].count(), 2U);
  node().executor->run_held();
}

TEST_F(EngineStatus, WhoeverAsksTooOftenGetsEmptyAnswersForAWhile) {
  warm_up();
  for (std::uint64_t id = 1; id <= kStatusesPerSecond + 5; ++id) {
    client().engine->send_or_dial(fleet_.node(0), {.kind = wire::Kind::ask_status, .id = id}, {});
  }
  ASSERT_TRUE(fleet_.world().run_until(
      [&] { return client().statuses.size() == kStatusesPerSecond + 5; }, seconds(1)));
  std::size_t empty = 0;
  for (const auto& [id, text] : client().statuses) empty += text.empty() ? 1 : 0;
  EXPECT_EQ(empty, 5U);
  fleet_.world().run_for(seconds(2));
  EXPECT_EQ(ask()["calls"]["overdue"].count(), 0U) << "and then it is answered again";
}

class EngineStatusOfMany : public EngineStatus {
 protected:
  EngineStatusOfMany()
      : EngineStatus(
            {.nodes = 1, .clients = 1, .bundles = 400, .code_budget_bytes = std::size_t{1} << 30}) {
  }
};

TEST_F(EngineStatusOfMany, IsCutAndSaysSo) {
  for (std::size_t i = 0; i < 400; ++i) call(echo, seconds(60), i);
  ASSERT_TRUE(fleet_.world().run_until([&] { return fleet_.all_ended(); }, seconds(60)));
  const JsonValue status = ask();
  EXPECT_TRUE(status["truncated"].truth());
  EXPECT_EQ(status["code"]["bundles_total"].count(), 400U);
  EXPECT_LT(status["code"]["bundles"].items().size(), 400U);
  EXPECT_GT(status["code"]["bundles"].items().size(), 50U);
  EXPECT_FALSE(status["counters"].members().empty()) << "what follows the list is still there";
}

}  // namespace
}  // namespace godwit::call::sim
