// `godwit ranks`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "exit.hpp"
#include "sandbox_test.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class CliRanks : public testing::Test {
 protected:
  // Meeting places are made here.
  void SetUp() override {
    std::filesystem::create_directory(temporary_);
    ::setenv("TMPDIR", temporary_.c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(temporary_)) << "a meeting place was left behind";
    ::unsetenv("TMPDIR");
  }
  Ran shell(int ranks, const std::string& script) {
    return sandbox_.run({"ranks", std::to_string(ranks), "--", "sh", "-c", script});
  }

  Sandbox sandbox_;
  const std::string temporary_ = sandbox_.file("t");
};

TEST_F(CliRanks, RunsAProgramWhoseRanksMeetAndExchangeItems) {
  const Ran ran = sandbox_.run({"ranks", "4", "--label", GODWIT_RANK_PROGRAM});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  for (const char* line : {"[0] sum 10\n", "[1] sum 10\n", "[2] sum 10\n", "[3] sum 10\n"}) {
    EXPECT_THAT(ran.output, HasSubstr(line));
  }
}

TEST_F(CliRanks, ExitsAsTheFirstRankThatFailsAndEndsTheOthers) {
  const Ran ran = shell(3, "if [ $GODWIT_RANK = 1 ]; then exit 7; fi; exec sleep 100");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_THAT(ran.errors, HasSubstr("rank 1 ended with exit code 7"));
}

TEST_F(CliRanks, NamesTheSignalThatEndedARank) {
  const Ran ran = shell(2, "if [ $GODWIT_RANK = 0 ]; then kill -9 $$; fi; exec sleep 100");
  EXPECT_EQ(ran.exit_code, 128 + SIGKILL);
  EXPECT_THAT(ran.errors, HasSubstr("rank 0 was ended by signal 9 (Killed)"));
}

TEST_F(CliRanks, KillsARankThatDoesNotEndWhenToldTo) {
  const std::string deaf = sandbox_.file("deaf");
  const Ran ran =
      shell(2, "if [ $GODWIT_RANK = 1 ]; then trap '' TERM; : > " + deaf +
                   "; exec sleep 100; fi; until [ -e " + deaf + " ]; do :; done; exit 3");
  EXPECT_EQ(ran.exit_code, 3) << ran.errors;
}

TEST_F(CliRanks, PassesSignalsOn) {
  const auto running =
      sandbox_.start({"ranks", "2", "--", "sh", "-c",
                      "trap 'exit 5' TERM; echo here; while :; do sleep 0.1; done"});
  ASSERT_TRUE(eventually([&] { return running->output() == "here\nhere\n"; }));
  running->signal(SIGTERM);
  EXPECT_EQ(running->finish().exit_code, 5);
}

TEST_F(CliRanks, LabelsLinesOfOutputAndOfErrors) {
  const Ran ran = sandbox_.run(
      {"ranks", "2", "--label", "--", "sh", "-c", "echo out; echo err >&2; printf unended"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, AllOf(HasSubstr("[0] out\n"), HasSubstr("[1] out\n"),
                                HasSubstr("[0] unended\n"), HasSubstr("[1] unended\n")));
  EXPECT_THAT(ran.errors, AllOf(HasSubstr("[0] err\n"), HasSubstr("[1] err\n")));
}

TEST_F(CliRanks, PassesArgumentsOnAsTheyAre) {
  const Ran ran = sandbox_.run({"ranks", "1", "echo", "--label", "--", "a  b"});
  EXPECT_EQ(ran.output, "--label -- a  b\n");
}

TEST_F(CliRanks, OnlyRankZeroReadsInput) {
  const Ran ran = shell(2, "if [ $GODWIT_RANK = 1 ]; then cat; fi");
  EXPECT_EQ(ran.exit_code, 0) << "rank 1 waited for input";
}

TEST_F(CliRanks, SaysWhatIsWrongWithACommandLine) {
  const Ran none = sandbox_.run({"ranks", "2"});
  EXPECT_EQ(none.exit_code, static_cast<int>(Exit::usage));
  EXPECT_THAT(none.errors, HasSubstr("which program?"));
  const Ran zero = sandbox_.run({"ranks", "0", "true"});
  EXPECT_EQ(zero.exit_code, static_cast<int>(Exit::usage));
  const Ran option = sandbox_.run({"ranks", "2", "--fast", "true"});
  EXPECT_THAT(option.errors, HasSubstr("there is no option '--fast'"));
  const Ran missing = sandbox_.run({"ranks", "2", "/there/is/no/such"});
  EXPECT_EQ(missing.exit_code, static_cast<int>(Exit::bad_file));
  EXPECT_THAT(missing.errors, HasSubstr("cannot start /there/is/no/such"));
  EXPECT_THAT(missing.output, IsEmpty());
}

}  // namespace
}  // namespace godwit::cli
