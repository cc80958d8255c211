// The protocol of calls under faults, seed by seed, against a model of what must hold:
// every call ends once, nothing runs twice that may not, no answer reaches the wrong call, and what
// claims not to have started has not.
#include <gtest/gtest.h>

#include <set>

#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "call/sim_fleet.hpp"
#include "trace/json_value.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::uint32_t times_run(SimFleet& fleet, const Record& record) {
  std::uint32_t most = 0;
  for (std::uint64_t hop = 0; hop <= record.hops; ++hop) {
    const auto it = fleet.executions().find({record.key, hop});
    if (it != fleet.executions().end()) most = std::max(most, it->second);
  }
  return most;
}

void check(SimFleet& fleet, const Record& record) {
  const std::uint32_t ran = times_run(fleet, record);
  const std::string what = "call " + std::to_string(record.key) + " of function " +
                           std::to_string(record.function) + " ended " +
                           std::string(to_string(record.outcome.ending)) + " '" + record.text + "'";
  ASSERT_EQ(record.ended, record.caller_died ? 0U : 1U) << what;
  if (record.function != idempotent_work) {
    ASSERT_LE(ran, 1U) << what;
  }
  if (record.caller_died) return;
  if (!record.outcome.may_have_started) {
    ASSERT_EQ(ran, 0U) << what;
  }
  if (record.outcome.ending == Ending::ok) {
    ASSERT_GE(ran, 1U) << what;
    ASSERT_EQ(record.answer, right_answer(record.key)) << what;
  }
  if (record.outcome.ending == Ending::app_error) {
    ASSERT_EQ(record.function, throws) << what;
    ASSERT_EQ(record.text, "boom " + std::to_string(record.key)) << what;
  }
}

// Every credit is back where it came from, and no link remembers a call.
void check_links(const SimProcess& process) {
  const auto status = trace::JsonValue::parse(process.engine->status());
  ASSERT_TRUE(status) << status.error().message;
  for (const trace::JsonValue& link : (*status)["links"].items()) {
    const std::string what = "process " + std::to_string(process.id.index) + ", its link to " +
                             std::string(link["peer"].text());
    EXPECT_EQ(link["credits_left"].count(), link["credits"].count()) << what;
    EXPECT_EQ(link["calls_in"].count(), 0U) << what;
    EXPECT_EQ(link["calls_out"].count(), 0U) << what;
    EXPECT_EQ(link["calls_waiting"].count(), 0U) << what;
  }
}

// Nothing is left behind in any process that is up.
void check_clean(SimFleet& fleet) {
  const auto clean = [&](ProcessId id) {
    SimProcess* process = fleet.at(id);
    if (process == nullptr) return;
    EXPECT_EQ(process->engine->calls_outstanding(), 0U) << "process " << id.index;
    EXPECT_EQ(process->engine->calls_inside(), 0U) << "process " << id.index;
    EXPECT_EQ(process->engine->stats().credits_violated, 0U) << "process " << id.index;
    check_links(*process);
  };
  for (std::size_t i = 0; i < fleet.shape().nodes; ++i) clean(fleet.node_process(i));
  for (std::size_t i = 0; i < fleet.shape().clients; ++i) clean(fleet.client_process(i));
}

fabric::sim::Options troubled() {
  fabric::sim::Options options;
  options.link_break_chance = 0.0005;
  return options;
}

// Up to longer than most deadlines.
void pause(SimFleet& fleet, ProcessId victim) {
  fleet.world().pause(victim, microseconds(fleet.world().random().below(3'000'000)));
}

// One thing that goes wrong, or right again.
void disturb(SimFleet& fleet) {
  Random& random = fleet.world().random();
  const ProcessId victim = fleet.node_process(random.below(fleet.shape().nodes));
  const ProcessId client = fleet.client_process(random.below(fleet.shape().clients));
  switch (random.below(9)) {
    case 0: fleet.world().crash(victim); break;
    case 1: fleet.world().restart(victim); break;
    case 2: fleet.world().break_any_link(); break;
    case 3: {
      const ProcessId group[] = {victim};
      fleet.world().partition(group);
      break;
    }
    case 4: fleet.world().heal(); break;
    case 5:
      if (SimProcess* process = fleet.at(victim)) {
        process->store->evict(fleet.bundle(random.below(fleet.shape().bundles)).id());
      }
      break;
    case 6: fleet.world().crash(client); break;
    case 7: pause(fleet, victim); break;
    case 8: pause(fleet, client); break;
  }
}

void evict_something(SimFleet& fleet) {
  Random& random = fleet.world().random();
  const ProcessId victim = fleet.node_process(random.below(fleet.shape().nodes));
  fleet.at(victim)->store->evict(fleet.bundle(random.below(fleet.shape().bundles)).id());
}

// Each seed mixes what a fleet has to live with; a quarter of them have no faults.
struct Mix {
  explicit Mix(std::uint64_t seed) : faults(seed % 4 != 0) {
    shape.nodes = 2 + seed % 5;
    if (seed % 3 == 0) shape.code_budget_bytes = 100'000;  // evicts all the time
    if (seed % 8 < 4) shape.idle_link = microseconds(500) * (1 << seed % 6);
    if (seed % 5 == 0) shape.news_delay = milliseconds(900);
    if (seed % 7 == 0) {
      shape.kept = {.max_bytes = 1, .max_bundles = 1};
      shape.hold_bundles = false;
    }
  }
  [[nodiscard]] bool drops_idle_links() const { return shape.idle_link < seconds(1); }

  bool faults;
  SimFleet::Shape shape;
};

// Without a fault nothing is lost, dropped links or not. Only code that its owner let go of may be
// nowhere any more, and that is said.
void check_undisturbed(const Record& record, const Mix& mix) {
  const Ending ending = record.outcome.ending;
  const std::string what = "call " + std::to_string(record.key) + " '" + record.text + "'";
  if (!mix.shape.hold_bundles && ending == Ending::rejected) {
    ASSERT_EQ(record.outcome.reason, ErrorCode::unknown_code) << what;
    return;
  }
  ASSERT_EQ(ending, record.function == throws ? Ending::app_error : Ending::ok) << what;
}

void make_calls(SimFleet& fleet, const Mix& mix, std::size_t calls) {
  Random& random = fleet.world().random();
  const SimFleet::Shape& shape = mix.shape;
  for (std::size_t i = 0; i < calls; ++i) {
    const ProcessId from = fleet.client_process(random.below(shape.clients));
    if (!fleet.world().is_up(from)) fleet.world().restart(from);
    const auto function = static_cast<SimFunction>(random.below(kSimFunctions));
    const std::uint64_t hops = function == travel ? random.below(8) : 0;
    const Duration deadline = mix.faults ? milliseconds(50 + random.below(5000)) : seconds(20);
    if (!fleet.world().is_paused(from)) {
      Record& record = fleet.call(from, fleet.node(random.below(shape.nodes)),
                                  random.below(shape.bundles), function, hops, deadline);
      if (mix.faults && random.chance(0.03)) {
        if (OutgoingCall* call = fleet.outgoing(record)) fleet.at(from)->engine->cancel(*call);
      }
    }
    fleet.world().run_for(Duration(random.below(3'000'000)));
    if (random.chance(0.05)) mix.faults ? disturb(fleet) : evict_something(fleet);
  }
}

void run_seed(std::uint64_t seed, std::size_t calls) {
  const Mix mix(seed);
  SimFleet fleet(seed, mix.faults ? troubled() : fabric::sim::Options{}, mix.shape);
  make_calls(fleet, mix, calls);
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(30)))
      << "a call never ended";
  for (const auto& record : fleet.records()) {
    check(fleet, *record);
    if (!mix.faults) check_undisturbed(*record, mix);
    if (::testing::Test::HasFatalFailure()) return;
  }
  fleet.world().heal();
  fleet.world().run_for(seconds(15));  // late answers, sweeps and dead links settle
  check_clean(fleet);
  if (mix.drops_idle_links()) {
    EXPECT_EQ(fleet.world().live_links(), 0U) << "an idle link was not dropped";
  }
}

void run_seeds(std::size_t count, std::size_t calls) {
  for (const std::uint64_t seed : Seeds(1, count)) run_seed(seed, calls);
}

TEST(CallSimulation, CallsEndOnceAndRightWithoutTrouble) {
  SimFleet fleet(1, {}, {});
  for (std::size_t i = 0; i < 200; ++i) {
    fleet.call(fleet.client_process(0), fleet.node(i % 4), i % 3,
               static_cast<SimFunction>(i % kSimFunctions), i % kSimFunctions == travel ? i % 9 : 0,
               seconds(10));
  }
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(20)));
  for (const auto& record : fleet.records()) {
    check(fleet, *record);
    const Ending expected = record->function == throws ? Ending::app_error : Ending::ok;
    EXPECT_EQ(record->outcome.ending, expected) << record->key << " " << record->text;
  }
  fleet.world().run_for(seconds(10));
  check_clean(fleet);
}

// A sanitized build runs ten times slower; it sees the same code with fewer seeds.
constexpr std::size_t kSeeds = kSanitized ? 60 : 5000;

TEST(CallSimulation, HoldsUnderFiveThousandSeedsOfTrouble) {
  run_seeds(kSeeds, 40);
}

TEST(CallSimulation, LongHoldsUnderManyMoreCallsPerSeed) {
  run_seeds(5000, 400);
}

TEST(CallSimulation, TheSameSeedGivesTheSameRun) {
  const auto trace = [](std::uint64_t seed) {
    SimFleet fleet(seed, troubled(), {});
    for (std::size_t i = 0; i < 50; ++i) {
      fleet.call(fleet.client_process(i % 2), fleet.node(i % 4), i % 3,
                 static_cast<SimFunction>(i % kSimFunctions), 3, seconds(5));
      fleet.world().run_for(milliseconds(1));
    }
    fleet.world().run_for(seconds(10));
    return fleet.world().trace_hash();
  };
  EXPECT_EQ(trace(7), trace(7));
  EXPECT_NE(trace(7), trace(8));
}

TEST(CallSimulation, ARestartedNodeGetsTheCodeAgain) {
  SimFleet fleet(3, {}, {});
  const auto run = [&](SimFunction function) {
    Record& record =
        fleet.call(fleet.client_process(0), fleet.node(0), 0, function, 0, seconds(10));
    EXPECT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(10)));
    return record.outcome.ending;
  };
  EXPECT_EQ(run(work), Ending::ok);
  const auto sent = [&] { return fleet.at(fleet.client_process(0))->engine->stats().code_sent; };
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(run(work), Ending::ok);
  EXPECT_EQ(sent(), 1U) << "code is sent once";
  fleet.world().restart(fleet.node_process(0));
  fleet.world().run_for(seconds(1));
  EXPECT_EQ(run(work), Ending::ok);
  EXPECT_EQ(sent(), 2U);
  fleet.at(fleet.node_process(0))->store->evict(fleet.bundle(0).id());
  EXPECT_EQ(run(work), Ending::ok);
  EXPECT_EQ(sent(), 3U);
}

TEST(CallSimulation, IdempotentCallsSurviveACrashAndPlainOnesSayNodeLost) {
  SimFleet fleet(5, {}, {});
  Record& warm = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return warm.ended == 1; }, seconds(10)));
  Record& plain = fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(10));
  Record& again =
      fleet.call(fleet.client_process(0), fleet.node(0), 0, idempotent_work, 0, seconds(10));
  fleet.world().crash(fleet.node_process(0));
  fleet.world().run_for(milliseconds(500));
  fleet.world().restart(fleet.node_process(0));
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(20)));
  EXPECT_EQ(plain.outcome.ending, Ending::node_lost);
  EXPECT_TRUE(plain.outcome.may_have_started);
  EXPECT_EQ(again.outcome.ending, Ending::ok);
}

// Some of its calls wait for code, some run, some travel, some wait for a credit.
TEST(CallSimulation, ADeadClientsCallsRunAtMostOnceAndLeaveNothingAtTheNodes) {
  for (const std::uint64_t seed : Seeds(1, 50)) {
    SimFleet fleet(seed, {}, {});
    for (std::size_t i = 0; i < 200; ++i) {
      fleet.call(fleet.client_process(i % 2), fleet.node(i % 4), i % 3,
                 static_cast<SimFunction>(i % kSimFunctions), i % kSimFunctions == travel ? 8 : 0,
                 seconds(5));
    }
    fleet.world().run_for(microseconds(200 * seed % 10'000));
    fleet.world().crash(fleet.client_process(0));
    ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(10)));
    fleet.world().run_for(seconds(1));  // well before deadlines would clean up
    std::size_t dead = 0;
    for (const auto& record : fleet.records()) {
      check(fleet, *record);
      dead += record->caller_died ? 1 : 0;
      if (record->from == fleet.client_process(1)) {
        ASSERT_EQ(record->outcome.ending,
                  record->function == throws ? Ending::app_error : Ending::ok)
            << record->text;
      }
    }
    EXPECT_GT(dead, 0U);
    check_clean(fleet);
  }
}

// Silence is not an end: whoever is patient gets the answer, whoever is not hears of the deadline,
// and the late answer does no harm.
TEST(CallSimulation, APausedNodeAnswersWhoeverWaits) {
  SimFleet fleet(13, {}, {});
  const auto start = [&](Duration deadline) -> Record& {
    return fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, deadline);
  };
  Record& warm = start(seconds(10));
  ASSERT_TRUE(fleet.world().run_until([&] { return warm.ended == 1; }, seconds(10)));
  fleet.world().pause(fleet.node_process(0), seconds(3));
  Record& patient = start(seconds(10));
  Record& hasty = start(seconds(1));
  ASSERT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(10)));
  EXPECT_EQ(patient.outcome.ending, Ending::ok);
  EXPECT_EQ(hasty.outcome.ending, Ending::deadline);
  EXPECT_TRUE(hasty.outcome.may_have_started);
  fleet.world().run_for(seconds(1));
  check_clean(fleet);
}

TEST(CallSimulation, ARunawayTravellerIsStoppedByTheHopLimit) {
  SimFleet::Shape shape;
  shape.max_hops = 20;
  SimFleet fleet(9, {}, shape);
  Record& record = fleet.call(fleet.client_process(0), fleet.node(0), 0, travel, 500, seconds(30));
  ASSERT_TRUE(fleet.world().run_until([&] { return record.ended == 1; }, seconds(30)));
  EXPECT_EQ(record.outcome.ending, Ending::rejected);
  EXPECT_EQ(record.outcome.reason, ErrorCode::hop_limit);
  EXPECT_TRUE(record.outcome.may_have_started);
}

TEST(CallSimulation, CreditsBoundWhatASlowNodeHolds) {
  SimFleet::Shape shape;
  shape.credits = 8;
  SimFleet fleet(11, {}, shape);
  for (std::size_t i = 0; i < 500; ++i) {
    fleet.call(fleet.client_process(0), fleet.node(0), 0, work, 0, seconds(60));
  }
  std::size_t most = 0;
  ASSERT_TRUE(fleet.world().run_until(
      [&] {
        most = std::max(most, fleet.at(fleet.node_process(0))->engine->calls_inside());
        return fleet.all_ended();
      },
      seconds(60)));
  EXPECT_LE(most, 8U);
  for (const auto& record : fleet.records()) EXPECT_EQ(record->outcome.ending, Ending::ok);
}

// What a call costs must not depend on how many nodes there are.
TEST(CallSimulation, AThousandNodesCostNoMoreMessagesPerCall) {
  const auto messages_per_call = [](std::size_t nodes) {
    SimFleet::Shape shape;
    shape.nodes = nodes;
    shape.clients = 1;
    shape.bundles = 1;
    SimFleet fleet(21, {}, shape);
    const std::size_t calls = nodes * 4;
    for (std::size_t i = 0; i < calls; ++i) {
      fleet.call(fleet.client_process(0), fleet.node(i % nodes), 0, i % 2 == 0 ? echo : travel,
                 i % 2 == 0 ? 0 : 3, seconds(60));
      if (i % 64 == 0) fleet.world().run_for(milliseconds(1));
    }
    EXPECT_TRUE(fleet.world().run_until([&] { return fleet.all_ended(); }, seconds(60)));
    for (const auto& record : fleet.records()) check(fleet, *record);
    const auto counters = fleet.world().counters();
    const double messages =
        static_cast<double>(counters.messages_sent) / static_cast<double>(calls);
    std::printf("%5zu nodes: %.2f messages, %.0f bytes per call\n", nodes, messages,
                static_cast<double>(counters.bytes_sent) / static_cast<double>(calls));
    return messages;
  };
  const double few = messages_per_call(10);
  const double many = messages_per_call(1000);
  EXPECT_LT(many, few * 1.6);
}

}  // namespace
}  // namespace godwit::call::sim
