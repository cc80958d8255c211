// The executable.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>

#include "lab_test.hpp"

namespace godwit::netlab {
namespace {

using testing::HasSubstr;

struct Ran {
  int exit_code = -1;
  std::string output;  // and errors
};

Ran netlab(const std::string& arguments) {
  const std::string command = fmt::format("timeout 30 {} {} 2>&1", NETLAB_EXECUTABLE, arguments);
  Ran ran;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  char part[4096];
  for (std::size_t size = 0; (size = std::fread(part, 1, sizeof part, pipe)) > 0;) {
    ran.output.append(part, size);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  return ran;
}

TEST(Netlab, TheCommandsExitCodeIsItsOwn) {
  {
    NETLAB_OR_SKIP(probe, {.hosts = 1});
  }
  EXPECT_EQ(netlab("-- true").exit_code, 0);
  EXPECT_EQ(netlab("-- sh -c 'exit 3'").exit_code, 3);
}

TEST(Netlab, TellsEveryProcessWhereItIs) {
  {
    NETLAB_OR_SKIP(probe, {.hosts = 1});
  }
  const Ran ran = netlab(
      "--hosts 3 --delay 1ms --loss 0% --rate 1Gbit "
      "-- sh -c 'echo $GODWIT_NETLAB_HOSTS $GODWIT_NETLAB_HOST $GODWIT_NETLAB_ADDRESS'");
  EXPECT_EQ(ran.output, "10.77.0.1,10.77.0.2,10.77.0.3 0 10.77.0.1\n");
  EXPECT_EQ(ran.exit_code, 0);
}

// The first command ends when the others have said that they run, and they end with it.
TEST(Netlab, OtherCommandsRunOnOtherHostsUntilTheFirstEnds) {
  {
    NETLAB_OR_SKIP(probe, {.hosts = 1});
  }
  std::string path = testing::TempDir() + "netlab-test-XXXXXX";
  const fabric::Fd file(::mkstemp(path.data()));
  const Ran ran =
      netlab(fmt::format("--hosts 2 --exec 1 'echo exec $GODWIT_NETLAB_HOST >>{0}; exec sleep 600' "
                         "--each 'echo each $GODWIT_NETLAB_HOST >>{0}; exec sleep 600' "
                         "-- sh -c 'while [ $(wc -l <{0}) -lt 3 ]; do :; done; sort {0}'",
                         path));
  ::unlink(path.c_str());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "each 0\neach 1\nexec 1\n");
}

TEST(Netlab, MistakesAreExplained) {
  EXPECT_EQ(netlab("").exit_code, 2);
  EXPECT_THAT(netlab("--delay 5 -- true").output, HasSubstr("'5' is no time: write 300us"));
  EXPECT_EQ(netlab("--delay 5 -- true").exit_code, 2);
  EXPECT_THAT(netlab("--hots 3 -- true").output, HasSubstr("see netlab --help"));
  EXPECT_THAT(netlab("--help").output, HasSubstr("GODWIT_NETLAB_ADDRESS"));
  {
    NETLAB_OR_SKIP(probe, {.hosts = 1});
  }
  EXPECT_EQ(netlab("-- no-such-program").exit_code, 125);
  EXPECT_EQ(netlab("--exec 9 true -- true").exit_code, 2);
}

}  // namespace
}  // namespace godwit::netlab
