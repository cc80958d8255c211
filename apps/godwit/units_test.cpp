// The parts of the program that need no process to try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "duration.hpp"
#include "exit.hpp"
#include "process.hpp"
#include "run_trace.hpp"
#include "sandbox_test.hpp"
#include "status_metrics.hpp"
#include "status_text.hpp"

namespace godwit::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Exit, TheTableIsInTheOrderOfItsNumbers) {
  int number = 0;
  for (const ExitMeaning& row : exit_meanings()) {
    EXPECT_EQ(static_cast<int>(row.exit), number++) << row.name;
    EXPECT_EQ(to_string(row.exit), row.name);
  }
}

TEST(Exit, EveryKnownErrorHasARowInTheTable) {
  for (int number = 0; number < 400; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (to_string(code) == "unknown") continue;
    const auto exit = static_cast<std::size_t>(exit_for(code));
    EXPECT_LT(exit, exit_meanings().size()) << to_string(code);
    EXPECT_EQ(exit == 0, code == ErrorCode::none) << to_string(code);
  }
  EXPECT_EQ(exit_for(static_cast<ErrorCode>(9999)), Exit::internal);
}

TEST(Exit, AFailureOfACallBecomesTheErrorThatSaysTheSame) {
  Failure failure{.ending = Ending::rejected, .reason = ErrorCode::no_slice, .message = "why"};
  EXPECT_EQ(error_of(failure).code, ErrorCode::no_slice);
  EXPECT_THAT(error_of(failure).message, HasSubstr("why"));
  std::set<ErrorCode> codes;
  for (const Ending ending : {Ending::app_error, Ending::cancelled, Ending::deadline,
                              Ending::evicted, Ending::crashed, Ending::node_lost}) {
    failure.ending = ending;
    codes.insert(error_of(failure).code);
    EXPECT_EQ(to_string(error_of(failure).code), to_string(ending));
  }
  EXPECT_EQ(codes.size(), 6U);
}

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("50us").value(), microseconds(50));
  EXPECT_EQ(parse_duration("1.5ms").value(), microseconds(1500));
  EXPECT_EQ(parse_duration("5s").value(), milliseconds(5000));
  EXPECT_EQ(parse_duration("2m").value(), milliseconds(120'000));
  for (const char* bad : {"", "5", "s", "-1s", "0s", "5 parsecs", "nan s", "1e30h", "5ss"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Duration, WritesThreeDigitsAndAUnit) {
  EXPECT_EQ(format_duration(microseconds(1)), "1.00 us");
  EXPECT_EQ(format_duration(microseconds(3400)), "3.40 ms");
  EXPECT_EQ(format_duration(milliseconds(2000)), "2.00 s");
}

TEST(StatusText, SaysWhatIsOverdueAndWhatWasLeftOut) {
  const auto status = trace::JsonValue::parse(R"({"name": "n0", "uptime_ms": 3723000,
    "calls": {"overdue": 1}, "overdue_total": 1, "overdue": [{"function": "spin", "bundle": "b",
    "caller": "evil\u001b[2J", "running_ms": 90500, "overdue_ms": 5200}],
    "code": {"bundles_total": 9, "bundles": [{"name": "b", "id": "0123456789abcdef",
    "state": "retired", "pinned": "it may have threads"}]}, "counters": {"calls_taken": 4}})");
  ASSERT_TRUE(status) << status.error().message;
  const std::string text = status_text(*status);
  EXPECT_THAT(text, HasSubstr("up 1 h 2 min"));
  EXPECT_THAT(text, HasSubstr("  spin      b       evil?[2J  1 min 30 s          5.2 s\n"));
  EXPECT_THAT(text, HasSubstr("Code (1 of 9; "));
  EXPECT_THAT(text, HasSubstr("0123456789ab  retired"));
  EXPECT_THAT(text, HasSubstr("it may have threads"));
  EXPECT_THAT(text, HasSubstr("calls_taken             4\n"));
}

// Of another version, or of another opinion: nothing in it may be relied on.
TEST(StatusText, TakesAnyJson) {
  for (const char* json : {"null", "[]", "{}", R"({"links": [1, null], "code": 7, "calls": []})"}) {
    EXPECT_NE(status_text(trace::JsonValue::parse(json).value()), "");
  }
}

TEST(StatusMetrics, SayWhoIsUpAndWhatTheyCount) {
  const auto status = trace::JsonValue::parse(R"({"uptime_ms": 3723999, "links_total": 3,
    "calls": {"inside": 2}, "code": {"memory_bytes": 4096, "evictions": 5},
    "counters": {"calls_taken": 18446744073709551615, "functions_overdue_now": 1}})");
  ASSERT_TRUE(status) << status.error().message;
  const AskedNode nodes[] = {{"n0", &*status}, {"a\"b\\\n", nullptr}};
  const std::string text = status_metrics(nodes);
  EXPECT_THAT(text, HasSubstr("# HELP godwit_up Whether the node told its status\n"
                              "# TYPE godwit_up gauge\n"
                              "godwit_up{node=\"a\\\"b\\\\ \"} 0\n"
                              "godwit_up{node=\"n0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE godwit_calls_taken_total counter\n"
                              "godwit_calls_taken_total{node=\"n0\"} 18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE godwit_functions_overdue_now gauge\n"
                              "godwit_functions_overdue_now{node=\"n0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("godwit_uptime_seconds{node=\"n0\"} 3723\n"));
  EXPECT_THAT(text, HasSubstr("godwit_calls_inside{node=\"n0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("godwit_links{node=\"n0\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("godwit_code_memory_bytes{node=\"n0\"} 4096\n"));
  EXPECT_THAT(text, HasSubstr("godwit_evictions_total{node=\"n0\"} 5\n"));
}

// A line that is not the format's would cost a scraper all of them.
TEST(StatusMetrics, StayInTheFormatWhateverANodeAnswers) {
  const std::regex line(R"re(godwit_\w+\{node="n0"\} -?\d+|# (HELP|TYPE) godwit_\w+ .*)re");
  for (const char* json : {"null", "{}", R"({"counters": {"x{y=\"z\"} 1\nevil": 7, "": -3}})"}) {
    const auto status = trace::JsonValue::parse(json);
    ASSERT_TRUE(status) << json;
    const AskedNode node{"n0", &*status};
    std::istringstream lines(status_metrics({&node, 1}));
    for (std::string text; std::getline(lines, text);) {
      EXPECT_TRUE(std::regex_match(text, line)) << text;
    }
  }
}

TEST(RunTrace, KeepsTheLastSpansAndSaysHowManyThereWere) {
  Sandbox sandbox;
  const std::string file = sandbox.file("trace.json");
  auto trace = RunTrace::create(file);
  ASSERT_TRUE(trace) << trace.error().message;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i <= RunTrace::kMaxEvents; ++i) trace->span("call", 1, start, {}, i);
  EXPECT_EQ(trace->timed("work", [] { return 42; }), 42);
  const auto written = trace->write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->spans, RunTrace::kMaxEvents + 2);
  EXPECT_EQ(written->kept, RunTrace::kMaxEvents);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto json = trace::JsonValue::parse(text.str());
  ASSERT_TRUE(json) << json.error().message;
  const auto& events = (*json)["traceEvents"].items();
  ASSERT_EQ(events.size(), 1 + RunTrace::kMaxEvents) << "the process's name comes first";
  EXPECT_EQ(events[1]["args"]["value"].count(), 2U) << "the first two made room";
  EXPECT_EQ(events.back()["name"].text(), "work");
}

TEST(RunTrace, WithoutAFileNothingIsKept) {
  auto trace = RunTrace::create("");
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->is_on());
  EXPECT_EQ(trace->timed("work", [] { return 1; }), 1);
  EXPECT_EQ(trace->write().value().spans, 0U);
}

TEST(Process, AReusedPidIsNotTheProcessItWas) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_running(*self));
  ProcessId earlier = *self;
  earlier.start_ticks -= 1;
  EXPECT_FALSE(is_running(earlier));
  // Were it taken for the earlier one, this would end the test.
  EXPECT_TRUE(end_processes({earlier}, milliseconds(1)));
}

TEST(Process, OneThatDoesNotHeedSigtermIsKilled) {
  Sandbox sandbox;
  const auto node = sandbox.start({"node", "--name", "stubborn"});
  ASSERT_TRUE(eventually([&] { return node->output().starts_with("ready"); }));
  node->signal(SIGSTOP);  // cannot act on anything but SIGKILL
  const auto process = identify(node->pid());
  ASSERT_TRUE(process);
  EXPECT_TRUE(end_processes({*process}, milliseconds(10)));
  EXPECT_FALSE(is_running(*process));
  EXPECT_EQ(node->finish().exit_code, 128 + SIGKILL);
}

}  // namespace
}  // namespace godwit::cli
