// Loaded code has names in gdb and perf.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "code/jit/jit_fixture.hpp"

namespace godwit::code::jit {
namespace {

// What gdb says when it is attached to this process; this process stands still meanwhile.
std::string ask_gdb(const std::string& question) {
  const std::string command = fmt::format(
      "timeout 50 {} -nx -batch -iex 'set auto-load off' -iex 'set debuginfod enabled off' "
      "-p {} -ex '{}' 2>&1",
      GODWIT_GDB, getpid(), question);
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  if (pipe == nullptr) return text;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), got);
  }
  pclose(pipe);
  return text;
}

TEST(JitDebugger, GdbNamesLoadedCode) {
  if (access(GODWIT_GDB, X_OK) != 0) GTEST_SKIP() << "gdb is not installed";
  auto jit = open_or_fail();
  const auto library = load_or_fail(*jit, "twin_1", Tier::fast);
  auto unloaded = load_or_fail(*jit, "add", Tier::fast);
  const auto* gone = reinterpret_cast<const void*>(unloaded->entry("add"));
  unloaded.reset();
  const auto* address = reinterpret_cast<const char*>(library->entry("ask"));
  const std::string said = ask_gdb(fmt::format("info symbol {}", fmt::ptr(address + 1)));
  if (said.find("ptrace: Operation not permitted") != std::string::npos) {
    GTEST_SKIP() << "this machine does not let processes be traced";
  }
  EXPECT_THAT(said, testing::HasSubstr("ask + 1 in section .text"));
  EXPECT_THAT(ask_gdb(fmt::format("info symbol {}", fmt::ptr(gone))),
              testing::HasSubstr("No symbol matches"));
}

TEST(JitDebugger, PerfMapListsLoadedCodeWhileTheJitLives) {
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  ASSERT_EQ(setenv("GODWIT_PERF_MAP", "1", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  auto jit = open_or_fail();
  unsetenv("GODWIT_PERF_MAP");  // NOLINT(concurrency-mt-unsafe)
  const auto library = load_or_fail(*jit, "twin_1", Tier::fast);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto address = reinterpret_cast<std::uint64_t>(library->entry("ask"));
  EXPECT_THAT(text, testing::ContainsRegex(fmt::format("{:x} [0-9a-f]+ ask", address)));
  EXPECT_THAT(text, testing::HasSubstr(" helper\n"));
  jit.reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(JitDebugger, NoPerfMapUnlessAsked) {
  auto jit = open_or_fail();
  const auto library = load_or_fail(*jit, "add", Tier::fast);
  EXPECT_NE(access(fmt::format("/tmp/perf-{}.map", getpid()).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace godwit::code::jit
