#include "code/toolchain/process.hpp"

#include <gtest/gtest.h>

namespace godwit::code {
namespace {

using namespace std::chrono_literals;

TEST(Process, ReturnsOutputErrorsAndStatus) {
  const auto result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"}, 20s);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(Process, PassesArgumentsUntouched) {
  const auto result = run_process({"printf", "%s", "a b; echo $HOME `id` *"}, 20s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "a b; echo $HOME `id` *");
}

TEST(Process, MissingProgramIsNotFound) {
  const auto result = run_process({"godwit-no-such-program"}, 20s);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
}

TEST(Process, KillsWhatOverstaysWithItsChildren) {
  const auto start = std::chrono::steady_clock::now();
  // The child of the shell holds the pipes open, too.
  const auto result = run_process({"sh", "-c", "sleep 100 & sleep 100"}, 100ms);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::deadline);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TEST(Process, KeepsABoundedPartOfEndlessOutput) {
  const auto result = run_process({"head", "-c", "3000000", "/dev/zero"}, 20s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output.size(), kMaxOutputBytes);
  EXPECT_EQ(result->exit_code, 0);
}

TEST(Process, ReportsTheSignalThatEndedIt) {
  const auto result = run_process({"sh", "-c", "kill -9 $$"}, 20s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + 9);
}

}  // namespace
}  // namespace godwit::code
