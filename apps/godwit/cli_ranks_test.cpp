// `godwit ranks`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exit.hpp"
#include "sandbox_test.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

// What the ranks of a transport printed, by rank.
std::vector<std::string> lines_of(const Ran& ran) {
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  std::vector<std::string> lines;
  std::istringstream text(ran.output);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

class CliRestarts : public CliRanks {
 protected:
  // A transport that saves to `folder`, whose rank `victim` is killed in the middle, once.
  Ran transport(std::vector<std::string> options, const std::string& folder,
                const std::string& moment, const std::string& victim,
                const std::vector<std::string>& threads = {}) {
    options.insert(options.begin(), "ranks");
    options.insert(options.end(),
                   {GODWIT_RANK_PROGRAM, "transport", sandbox_.file(folder), moment, victim});
    options.insert(options.end(), threads.begin(), threads.end());
    return sandbox_.run(options);
  }
};

TEST_F(CliRestarts, EndAsIfNobodyHadBeenKilled) {
  const auto undisturbed = lines_of(transport({"3"}, "whole", "kernel", "none"));
  ASSERT_EQ(undisturbed.size(), 3U);
  for (const auto& [moment, victim] :
       {std::pair("kernel", "0"), std::pair("kernel", "2"), std::pair("fold", "1"),
        std::pair("save", "0"), std::pair("save", "2")}) {
    SCOPED_TRACE(std::string(moment) + " of rank " + victim);
    const Ran ran =
        transport({"3", "--restarts", "1"}, std::string(moment) + victim, moment, victim);
    EXPECT_EQ(lines_of(ran), undisturbed);
    EXPECT_THAT(ran.errors,
                HasSubstr(std::string("rank ") + victim +
                          " was ended by signal 9 (Killed); starting all ranks again (1 of 1)"));
  }
  // Ranks that are threads die together.
  const Ran threads = transport({"1", "--restarts", "1"}, "threads", "kernel", "1", {"3"});
  EXPECT_EQ(lines_of(threads), undisturbed);
  EXPECT_THAT(threads.errors, HasSubstr("starting all ranks again"));
}

TEST_F(CliRestarts, MayBeOfAnotherNumberOfRanks) {
  const auto steps = [](const std::vector<std::string>& lines) {
    std::uint64_t sum = 0;
    for (const std::string& line : lines) sum += std::stoull(line.substr(line.find(": ") + 2));
    return sum;
  };
  const auto undisturbed = steps(lines_of(transport({"3"}, "whole", "kernel", "none")));
  for (const char* ranks : {"2", "5"}) {
    const std::string folder = std::string("for") + ranks;
    EXPECT_EQ(transport({"3"}, folder, "kernel", "1").exit_code, 128 + SIGKILL);
    const auto lines = lines_of(transport({ranks}, folder, "kernel", "none"));
    EXPECT_EQ(lines.size(), std::stoull(ranks));
    EXPECT_EQ(steps(lines), undisturbed);
  }
}

TEST_F(CliRestarts, AreForRanksThatWereLostAndHaveALimit) {
  const auto restarted = [&](const std::string& script) {
    return sandbox_.run({"ranks", "2", "--restarts", "2", "--", "sh", "-c",
                         "echo $GODWIT_RANK.$GODWIT_RESTARTED; if [ $GODWIT_RANK = 1 ]; then " +
                             script + "; fi; exec sleep 100"});
  };
  const Ran killed = restarted("kill -9 $$");
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  EXPECT_THAT(killed.output, AllOf(HasSubstr("1.0\n"), HasSubstr("1.1\n"), HasSubstr("1.2\n"),
                                   Not(HasSubstr("1.3\n"))));
  EXPECT_THAT(killed.errors, HasSubstr("all had been started again 2 times"));
  const Ran lost = restarted("exit 15");
  EXPECT_EQ(lost.exit_code, static_cast<int>(Exit::node_lost));
  EXPECT_THAT(lost.output, HasSubstr("1.2\n"));
  const Ran failed = restarted("exit 7");
  EXPECT_EQ(failed.exit_code, 7);
  EXPECT_THAT(failed.output, Not(HasSubstr("1.1\n")));
}

TEST_F(CliRestarts, AreNotForWhoeverWasToldToEnd) {
  const auto running = sandbox_.start(
      {"ranks", "2", "--restarts", "5", "--", "sh", "-c", "echo here; exec sleep 100"});
  ASSERT_TRUE(eventually([&] { return running->output() == "here\nhere\n"; }));
  running->signal(SIGTERM);
  const Ran ran = running->finish();
  EXPECT_EQ(ran.exit_code, 128 + SIGTERM);
  EXPECT_EQ(ran.output, "here\nhere\n");
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
