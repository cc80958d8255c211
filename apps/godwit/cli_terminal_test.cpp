// What commands draw for somebody who looks, and for nobody else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "sandbox_test.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Runs a command as a person does: all that it prints goes to a terminal of its own.
Ran run_on_terminal(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{GODWIT_EXECUTABLE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::execv(GODWIT_EXECUTABLE, argv.data());
    ::_exit(127);
  }
  if (pid < 0) {
    ADD_FAILURE() << "no terminal: " << errno;
    return {};
  }
  Ran ran;
  const auto until = std::chrono::steady_clock::now() + kTestLimit;
  bool open = true;
  while (open && std::chrono::steady_clock::now() < until) {
    pollfd readable{terminal, POLLIN, 0};
    if (::poll(&readable, 1, 1'000) <= 0) continue;
    char text[4096];
    const ssize_t count = ::read(terminal, text, sizeof text);
    open = count > 0;  // EIO: whoever had the other end has closed it
    if (open) ran.output.append(text, static_cast<std::size_t>(count));
  }
  if (open) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::close(terminal);
  if (!open && WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  return ran;
}

class CliTerminal : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(sandbox_.run({"up", "1"}).exit_code, 0); }
  // Drawn over itself, then one line that stays.
  static void expect_bar(const Ran& ran, const std::string& doing) {
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    EXPECT_THAT(ran.output,
                AllOf(ContainsRegex("\r" + doing + "  \\[[#.]{30}\\] +[0-9]+ %  .*B/s"),
                      ContainsRegex(doing + " 20\\.0 MiB in [0-9.]+ s, [0-9.]+ .iB/s")));
  }
  static void expect_none(const Ran& ran) {
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    EXPECT_THAT(ran.output, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\033["))));
  }

  Sandbox sandbox_;
};

TEST_F(CliTerminal, WhoLooksSeesHowFarATransferIsAndHowFastItGoes) {
  const std::string file = sandbox_.write("file", std::string(std::size_t{20} << 20, 'x'));
  expect_bar(run_on_terminal({"put", file, "--name", "seen"}), "put");
  expect_bar(run_on_terminal({"get", "seen", "-o", sandbox_.file("got")}), "got");
  expect_bar(run_on_terminal({"stream", "send", "topic", file, "--whole"}), "sending");
  // How much will come is not known there.
  ASSERT_EQ(sandbox_.run({"stream", "send", "lines", sandbox_.write("lines", "a\nb\n")}).exit_code,
            0);
  const Ran received = run_on_terminal({"stream", "recv", "lines", "--count", "2"});
  EXPECT_EQ(received.exit_code, 0) << received.output;
  EXPECT_THAT(received.output, AllOf(ContainsRegex("\rreceiving  [0-9]+ B, .*B/s"),
                                     ContainsRegex("receiving 2 B in [0-9.]+ s, .*B/s")));
}

TEST_F(CliTerminal, WhereNobodyLooksNothingIsDrawn) {
  const std::string file = sandbox_.write("file", std::string(std::size_t{20} << 20, 'x'));
  expect_none(sandbox_.run({"put", file, "--name", "unseen"}));
  expect_none(sandbox_.run({"get", "unseen", "-o", sandbox_.file("got")}));
  expect_none(sandbox_.run({"stream", "send", "topic", file, "--whole"}));
}

}  // namespace
}  // namespace godwit::cli
