// The executable as a user meets it, as far as no fleet is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "exit.hpp"
#include "sandbox_test.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kAdding = R"(
#include <godwit/mobile.hpp>
std::int64_t add(std::int64_t a, std::int64_t b) { return a + b; }
GODWIT_EXPORT(add, inline_, idempotent);
)";

class Cli : public testing::Test {
 protected:
  Sandbox sandbox_;

  static void expect(const Ran& ran, Exit exit, const std::string& message) {
    EXPECT_EQ(ran.exit_code, static_cast<int>(exit)) << ran.output << ran.errors;
    EXPECT_THAT(ran.errors, AllOf(StartsWith("godwit: "), HasSubstr(message)));
  }
};

TEST_F(Cli, SaysItsVersion) {
  const Ran ran = sandbox_.run({"--version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, StartsWith("godwit 0."));
}

TEST_F(Cli, HelpOfEveryCommandHasAUsageLineAndAnExample) {
  const Ran all = sandbox_.run({"help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* command : {"up", "down", "ls", "status", "cc", "run", "inspect", "node",
                              "config", "key", "info", "bench", "help", "ranks"}) {
    EXPECT_THAT(all.output, HasSubstr("\n  " + std::string(command) + " "));
    const Ran ran = sandbox_.run({"help", command});
    EXPECT_EQ(ran.exit_code, 0) << command;
    EXPECT_THAT(ran.output, HasSubstr("Usage: godwit " + std::string(command)));
    EXPECT_THAT(ran.output, HasSubstr("$ godwit " + std::string(command)));
  }
}

TEST_F(Cli, HelpListsEveryExitCode) {
  const Ran ran = sandbox_.run({"help", "exit-codes"});
  EXPECT_EQ(ran.exit_code, 0);
  for (const ExitMeaning& row : exit_meanings()) {
    EXPECT_THAT(ran.output, HasSubstr(std::string(row.name)));
  }
}

TEST_F(Cli, WrongUsageIsToldApartFromEverythingElse) {
  expect(sandbox_.run({"frobnicate"}), Exit::usage,
         "there is no command 'frobnicate'; `godwit help` lists them");
  expect(sandbox_.run({"up"}), Exit::usage, "N is required; see `godwit help up`");
  expect(sandbox_.run({"up", "0"}), Exit::usage, "");
  expect(sandbox_.run({"ls", "--no-such-flag"}), Exit::usage, "--no-such-flag");
  expect(sandbox_.run({"ls", "--", "word"}), Exit::usage, "nothing is expected after --");
  expect(sandbox_.run({"help", "nothing"}), Exit::usage, "no command or topic");
  expect(sandbox_.run({"run", "a.gdw", "f", "--bogus", "--on", "n0"}), Exit::usage, "--bogus");
  expect(sandbox_.run({"run", "a.gdw", "f", "--on", "n0", "--deadline", "soon"}), Exit::usage,
         "--deadline: 'soon' is no time");
  expect(sandbox_.run({"down", "--fleet", "../up"}), Exit::usage, "no name for a fleet");
  expect(sandbox_.run({"status", "n0", "--timeout", "soon"}), Exit::usage,
         "--timeout: 'soon' is no time");
  expect(sandbox_.run({"status"}), Exit::unreachable, "godwit up 4");
}

TEST_F(Cli, ErrorsAreJsonToo) {
  const Ran ran = sandbox_.run({"inspect", sandbox_.file("missing.gdw"), "--json"});
  expect(ran, Exit::bad_file, "missing.gdw");
  EXPECT_THAT(ran.output, AllOf(StartsWith(R"({"error": {"code": "not_found")"),
                                HasSubstr(R"("exit_code": 11)")));
}

TEST_F(Cli, ConfigShowsWhereEachValueCameFrom) {
  const std::string file = sandbox_.write("node.toml", "workers = 3\n");
  const Ran ran = sandbox_.run({"config", "--config", file, "--credits", "5", "--credits=7"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, HasSubstr("workers            = 3  (file " + file + ", line 1"));
  EXPECT_THAT(ran.output, HasSubstr("credits            = 7  (flag --credits; default: 256)"));
  EXPECT_THAT(ran.output, HasSubstr("spin_us            = 50  (default)"));
  const Ran json = sandbox_.run({"config", "--config", file, "--json"});
  EXPECT_THAT(json.output, HasSubstr(R"("name": "workers", "value": "3", "default": "0", )"
                                     R"("source": "file")"));
}

TEST_F(Cli, BadSettingsAreUsageErrorsThatNameTheirSource) {
  expect(sandbox_.run({"config", "--spin-us", "abc"}), Exit::usage, "--spin-us abc: expected");
  const std::string file = sandbox_.write("node.toml", "spinus = 3\n");
  expect(sandbox_.run({"node", "--config", file}), Exit::usage, "did you mean 'spin_us'?");
  expect(sandbox_.run({"node", "--config", sandbox_.file("none.toml")}), Exit::bad_file,
         "none.toml");
}

TEST_F(Cli, AKeyIsMadeOnceAndChecked) {
  const std::string file = sandbox_.file("fleet.key");
  EXPECT_EQ(sandbox_.run({"key", "new", file}).exit_code, 0);
  expect(sandbox_.run({"key", "new", file}), Exit::already_exists, file);
  const Ran checked = sandbox_.run({"key", "check", file});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.output, HasSubstr("fingerprint"));
  std::filesystem::permissions(file, std::filesystem::perms::all);
  expect(sandbox_.run({"key", "check", file}), Exit::permission, file);
  expect(sandbox_.run({"key", "check", sandbox_.file("none")}), Exit::bad_file, "none");
}

TEST_F(Cli, InfoTellsWhatWorksHere) {
  const Ran ran = sandbox_.run({"info", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr(R"({"name": "shm", "usable": true)"));
  EXPECT_THAT(ran.output, HasSubstr(R"("limits": {"bundle_bytes": )"));
  EXPECT_EQ(sandbox_.run({"info"}).exit_code, 0);
}

TEST_F(Cli, CompilesAndInspects) {
  const std::string source = sandbox_.write("add.cpp", kAdding);
  const std::string bundle = sandbox_.file("add.gdw");
  const Ran compiled =
      sandbox_.run({"cc", source, "-o", bundle, "--kind", "native", "--target", "x86_64", "--name",
                    "sums", "-DUNUSED=1", "--", "-fno-math-errno"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.errors;
  const Ran text = sandbox_.run({"inspect", bundle});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.output,
              AllOf(StartsWith("sums\n"), HasSubstr("add(i64, i64) -> i64  inline  idempotent"),
                    HasSubstr("native   x86_64")));
  const Ran json = sandbox_.run({"inspect", bundle, "--json"});
  EXPECT_THAT(json.output, AllOf(HasSubstr(R"("name": "add", "signature": "(i64, i64) -> i64")"),
                                 HasSubstr(R"("kind": "native", "machine": "x86_64")")));

  // Mistakes that can be seen in the bundle need no fleet.
  expect(sandbox_.run({"run", bundle, "sub", "1", "2", "--on", "n0"}), Exit::unknown_function,
         "has no function 'sub'; it has add");
  expect(sandbox_.run({"run", bundle, "add", "1", "--on", "n0"}), Exit::bad_arguments,
         "add: expected 2 arguments");
  expect(sandbox_.run({"run", bundle, "add", "1", "two", "--on", "n0"}), Exit::bad_arguments,
         "two");
  expect(sandbox_.run({"run", bundle, "add", "-1", "2", "--on", "n0"}), Exit::unreachable,
         "godwit up 4");
  expect(sandbox_.run({"run", bundle, "add", "1", "2", "--on", "n0", "--connect",
                       "shm:" + sandbox_.file("nobody.sock")}),
         Exit::unreachable, "nobody.sock");
  expect(sandbox_.run({"ls", "--connect", "nonsense"}), Exit::usage, "nonsense");
  expect(sandbox_.run({"ls", "--connect", "tcp:no-such-host.invalid:7400"}), Exit::unreachable,
         "cannot resolve host 'no-such-host.invalid'");
}

TEST_F(Cli, WhatDoesNotCompileIsToldApart) {
  const std::string broken = sandbox_.write("broken.cpp", "int f( {\n");
  expect(sandbox_.run({"cc", broken, "--target", "x86_64"}), Exit::compile_failed, "broken.cpp");
  const std::string mute = sandbox_.write("mute.cpp", "int f() { return 1; }\n");
  expect(sandbox_.run({"cc", mute, "--target", "x86_64", "--kind", "native"}), Exit::compile_failed,
         "export");
  expect(sandbox_.run({"cc", sandbox_.file("none.cpp")}), Exit::bad_file, "none.cpp");
  expect(sandbox_.run({"cc", mute, "--target", "pdp11"}), Exit::usage, "pdp11");
}

TEST_F(Cli, AFileThatIsNoBundleIsABadFile) {
  const std::string file = sandbox_.write("junk.gdw", "not a bundle at all");
  expect(sandbox_.run({"inspect", file}), Exit::bad_file, "junk.gdw");
  expect(sandbox_.run({"run", file, "f", "--on", "n0"}), Exit::bad_file, "junk.gdw");
}

TEST_F(Cli, ANodeServesUntilItIsToldToEnd) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string address = "shm:" + sandbox_.file("a.sock");
    const auto node = sandbox_.start({"node", "--name", "a", "--listen", address});
    ASSERT_TRUE(eventually([&] { return node->output().ends_with("\n"); }));
    EXPECT_EQ(node->output(), "ready a " + address + "\n");
    expect(sandbox_.run({"node", "--name", "b", "--listen", address}), Exit::address_in_use,
           "a.sock");
    node->signal(signal);
    EXPECT_EQ(node->finish().exit_code, 0);
  }
  EXPECT_THAT(std::filesystem::exists(sandbox_.file("a.sock")), false);
}

TEST_F(Cli, ANodeWillNotStartWithACacheItCannotWrite) {
  const std::string file = sandbox_.write("file", "in the way");
  expect(sandbox_.run({"node", "--cache-dir", file + "/cache"}), Exit::cache_unwritable,
         "cache_dir: '" + file + "/cache' cannot be written");
}

TEST_F(Cli, ANodeWithoutAKeyListensOnThisHostOnly) {
  expect(sandbox_.run({"node", "--listen", "tcp:0.0.0.0:0"}), Exit::permission, "key");
}

}  // namespace
}  // namespace godwit::cli
