// The parts of the program that need no process to try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "columns.hpp"
#include "duration.hpp"
#include "exit.hpp"
#include "process.hpp"
#include "sandbox_test.hpp"
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

TEST(Columns, AlignAndLeaveNoSpaceAtTheEnd) {
  Columns columns{"NAME", ">CALLS", "WHY"};
  EXPECT_TRUE(columns.empty());
  columns.add({"longer name", "7", ""});
  columns.add({"n", "1234567", "pinned"});
  EXPECT_FALSE(columns.empty());
  EXPECT_EQ(columns.text("  "),
            "  NAME           CALLS  WHY\n"
            "  longer name        7\n"
            "  n            1234567  pinned\n");
}

TEST(Columns, TextFromElsewhereCannotCommandTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f é"), "a?[31m?b? é");
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
