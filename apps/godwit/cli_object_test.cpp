// `godwit put`, `get`, `stat`, `evict`, `objects` and `explain`, with a fleet of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "exit.hpp"
#include "godwit/detail/object_codec.hpp"
#include "godwit/handle.hpp"
#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using trace::JsonValue;

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The first line that a shell's command prints.
std::string printed(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"),
                                                               ::pclose);
  char line[256] = {};
  if (output == nullptr || std::fgets(line, sizeof line, output.get()) == nullptr) return {};
  std::string text(line);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// Bytes no two pieces of which are alike.
std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 12345;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

class CliObject : public testing::Test {
 protected:
  void up(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"up", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = sandbox_.run(arguments);
    ASSERT_EQ(ran.exit_code, 0) << ran.output << ran.errors;
  }
  // The output of one that works; nothing is said on standard error, which is no terminal.
  std::string good(const std::vector<std::string>& arguments) {
    const Ran ran = sandbox_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    return ran.output;
  }
  JsonValue json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const std::string text = good(arguments);
    auto read = JsonValue::parse(text);
    if (!read) {
      ADD_FAILURE() << read.error().message << "\n" << text;
      return {};
    }
    return *std::move(read);
  }
  // Its handle.
  std::string put(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "put");
    std::string handle = good(arguments);
    EXPECT_THAT(handle, StartsWith("gdw://"));
    if (!handle.empty()) handle.pop_back();
    return handle;
  }
  static void expect(const Ran& ran, Exit exit, const std::string& message) {
    EXPECT_EQ(ran.exit_code, static_cast<int>(exit)) << ran.output << ran.errors;
    EXPECT_THAT(ran.errors, HasSubstr(message));
    EXPECT_EQ(ran.output, "");
  }
  Sandbox sandbox_;
};

TEST_F(CliObject, WhatIsPutIsGotAndEvicted) {
  up();
  const std::string file = sandbox_.write("hello", "hello\nthere\n");
  const std::string handle = put({file, "--on", "n1"});
  EXPECT_EQ(good({"get", handle}), "hello\nthere\n");
  EXPECT_EQ(good({"get", handle, "--range", "6:"}), "there\n");
  EXPECT_EQ(good({"get", handle, "--range", ":5", "-o", "-"}), "hello");
  EXPECT_EQ(good({"get", handle, "--range", "3:3"}), "");
  const std::string copy = sandbox_.write("copy", "what was there before");
  EXPECT_EQ(good({"get", handle, "-o", copy}), "");
  EXPECT_EQ(content_of(copy), "hello\nthere\n");
  EXPECT_THAT(
      good({"stat", handle}),
      AllOf(HasSubstr("size       12 bytes, 12 B\n"), HasSubstr("type       bytes\n"),
            HasSubstr("home       n1 ("), HasSubstr("lifetime   until evicted\n"),
            HasSubstr("reads      5\n"), HasSubstr("rights     read+write+evict+delegate\n"),
            HasSubstr("owner      nobody\n"), HasSubstr("state      in memory\n")));
  EXPECT_EQ(good({"evict", handle}), "");
  expect(sandbox_.run({"get", handle, "-o", copy}), Exit::bad_file, "is not there any more");
  EXPECT_EQ(content_of(copy), "hello\nthere\n") << "what cannot be replaced stays";
  expect(sandbox_.run({"stat", handle}), Exit::bad_file, "is not there any more");
  EXPECT_EQ(good({"evict", handle}), "") << "evicting what is gone is fine";
}

TEST_F(CliObject, AnObjectIsSpreadToTheNodesThatAreNamed) {
  up();
  const std::string handle = put({sandbox_.write("hello", "hello\nthere\n"), "--on", "n1"});
  EXPECT_THAT(
      good({"spread", handle, "--keep", "10m"}),
      AllOf(HasSubstr("n0    n1    12 B"), HasSubstr("has a copy"), HasSubstr("is the home")));
  EXPECT_THAT(good({"objects", "n0"}), HasSubstr("lease, 9 min"));
  EXPECT_THAT(good({"spread", handle, "--to", "n0", "--json"}), HasSubstr(R"("copy": "gdw://)"));
  EXPECT_EQ(good({"evict", handle}), "");
  expect(sandbox_.run({"spread", handle}), Exit::bad_file, "is not there any more");
}

TEST_F(CliObject, FilesOfAnySizeComeBackAsTheyWere) {
  // Nothing, a message's worth, a mapping's, and several pieces' over tcp.
  const std::size_t sizes[] = {0, 16 << 10, (16 << 10) + 1, (std::size_t{5} << 20) + 17};
  for (const std::string transport : {"shm", "tcp"}) {
    up(transport == "tcp" ? std::vector<std::string>{"--tcp"} : std::vector<std::string>{});
    for (const std::size_t size : sizes) {
      const std::string bytes = pattern(size);
      const std::string handle = put({sandbox_.write("file", bytes), "--on", "1"});
      const std::string copy = sandbox_.file("copy");
      good({"get", handle, "-o", copy});
      EXPECT_TRUE(content_of(copy) == bytes) << transport << ", " << size << " bytes";
      if (size > 100) {
        good({"get", handle, "-o", copy, "--range", "7:" + std::to_string(size - 9)});
        EXPECT_TRUE(content_of(copy) == bytes.substr(7, size - 16)) << transport << ", " << size;
      }
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(sandbox_.path())) {
      EXPECT_THAT(entry.path().string(), Not(HasSubstr(".part-")));
    }
    ASSERT_EQ(sandbox_.run({"down"}).exit_code, 0);
  }
}

TEST_F(CliObject, WhatComesThroughAPipeIsPut) {
  up();
  const std::string bytes = pattern((std::size_t{5} << 20) + 3);
  const std::string fifo = sandbox_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << bytes; });
  const std::string handle = put({fifo});
  writer.join();
  good({"get", handle, "-o", sandbox_.file("copy")});
  EXPECT_TRUE(content_of(sandbox_.file("copy")) == bytes);

  // What is left of a file that somebody else has begun to read.
  sandbox_.write("text", "skipped, read");
  const std::string rest =
      printed("{ dd bs=9 count=1 of=/dev/null 2> /dev/null; " + std::string(GODWIT_EXECUTABLE) +
              " put - --text; } < " + sandbox_.file("text"));
  EXPECT_THAT(rest, StartsWith("gdw://"));
  EXPECT_EQ(good({"get", rest}), "read");
}

TEST_F(CliObject, ANameStandsForAHandleUntilTheObjectIsEvicted) {
  up();
  const std::string first = put({sandbox_.write("a", "one"), "--name", "model"});
  EXPECT_EQ(good({"get", "model"}), "one");
  const JsonValue second = json({"put", sandbox_.write("b", "two"), "--name", "model"});
  EXPECT_EQ(second["name"].text(), "model");
  EXPECT_EQ(good({"get", "model"}), "two") << "it names the other one now";
  EXPECT_EQ(good({"get", first}), "one");
  EXPECT_EQ(json({"stat", "model"})["handle"].text(), second["handle"].text());
  EXPECT_EQ(good({"evict", "model", first}), "");
  EXPECT_TRUE(eventually([&] {
    const Ran ran = sandbox_.run({"get", "model"});
    return ran.errors.find("no object is called 'model'") != std::string::npos;
  }));
  expect(sandbox_.run({"put", "/etc/hostname", "--name", "two words"}), Exit::bad_arguments,
         "cannot name an object");
}

TEST_F(CliObject, AChannelOfTheSettingsKeepsTheBytes) {
  const std::string folder = sandbox_.file("channel");
  ::setenv("GODWIT_CHANNEL", ("scratch file:" + folder + " min_size=1m priority=5").c_str(), 1);
  up();
  const std::string bytes = pattern(300'000);
  const std::string file = sandbox_.write("file", bytes);
  const std::string handle = put({file, "--channel", "scratch", "--tag", "any"});
  EXPECT_THAT(good({"stat", handle}),
              AllOf(HasSubstr("state      in a channel\n"), HasSubstr("channel    scratch\n")));
  EXPECT_THAT(good({"explain", handle}),
              AllOf(HasSubstr("resolve   by channel: the channel has it"),
                    HasSubstr("path      scratch: ")));
  EXPECT_EQ(json({"explain", handle, "--measure"})["measured"]["by"].text(), "channel");
  EXPECT_TRUE(good({"get", handle}) == bytes);
  EXPECT_EQ(good({"get", handle, "--range", "1000:1010"}), bytes.substr(1000, 10));
  EXPECT_THAT(good({"stat", put({file})}), HasSubstr("state      in memory\n")) << "too small";
  good({"evict", handle});
  EXPECT_TRUE(eventually([&] {
    const fs::recursive_directory_iterator files(folder);
    return std::none_of(begin(files), end(files),
                        [](const fs::directory_entry& one) { return one.is_regular_file(); });
  }));
  expect(sandbox_.run({"put", file, "--channel", "other"}), Exit::bad_file, "memory, scratch");
  EXPECT_THAT(good({"config"}), HasSubstr("scratch file:"));
  ::unsetenv("GODWIT_CHANNEL");
}

TEST_F(CliObject, LifetimesEndObjects) {
  up();
  const std::string file = sandbox_.write("file", "x");
  const std::string twice = put({file, "--readers", "2"});
  EXPECT_THAT(good({"stat", twice}), HasSubstr("lifetime   2 readers\n"));
  EXPECT_THAT(good({"explain", twice}), HasSubstr("(not a locate, which counts as a reader)"));
  expect(sandbox_.run({"explain", twice, "--measure"}), Exit::bad_arguments, "measuring reads it");
  EXPECT_EQ(good({"get", twice}), "x");
  EXPECT_THAT(good({"stat", twice}), HasSubstr("lifetime   1 reader\n"));
  EXPECT_EQ(good({"get", twice, "--wait", "1s"}), "x");
  expect(sandbox_.run({"get", twice}), Exit::bad_file, "is not there any more");

  const std::string leased = put({file, "--lease", "1h"});
  EXPECT_THAT(good({"stat", leased}), HasSubstr("lifetime   lease, 59 min"));
  const JsonValue status = json({"stat", leased});
  EXPECT_EQ(status["object"]["lifetime"].text(), "lease");
  EXPECT_GT(status["object"]["time_left_ms"].number(), 3'500'000);
  const std::string brief = put({file, "--lease", "1ms"});
  EXPECT_TRUE(eventually([&] { return sandbox_.run({"get", brief}).exit_code == 11; }));

  expect(sandbox_.run({"put", file, "--lease", "soon"}), Exit::usage, "--lease: 'soon' is no time");
  expect(sandbox_.run({"put", file, "--lease", "1s", "--readers", "1"}), Exit::usage, "--readers");
  expect(sandbox_.run({"put", file, "--readers", "0"}), Exit::usage, "--readers");
}

// The handle that a `put --hold` has printed.
std::string held(const Running& running) {
  EXPECT_TRUE(eventually([&] { return running.output().ends_with('\n'); }));
  std::string handle = running.output();
  if (!handle.empty()) handle.pop_back();
  return handle;
}

TEST_F(CliObject, WhatIsHeldEndsWithTheCommand) {
  up();
  const auto running = sandbox_.start({"put", sandbox_.write("file", "x"), "--hold"});
  const std::string handle = held(*running);
  EXPECT_EQ(good({"get", handle}), "x");
  EXPECT_THAT(good({"stat", handle}), HasSubstr("lifetime   its process\n"));
  EXPECT_GE(json({"status", "n0"})["nodes"].items().at(0)["status"]["objects"]["holders"].count(),
            1U);
  running->signal(SIGINT);
  EXPECT_EQ(running->finish().exit_code, 0);
  EXPECT_TRUE(eventually([&] { return sandbox_.run({"get", handle}).exit_code == 11; }));
}

TEST_F(CliObject, LongWhatIsHeldOutlivesTheLeaseOfASilentProcess) {
  up();
  const auto running = sandbox_.start({"put", sandbox_.write("file", "x"), "--hold"});
  const std::string handle = held(*running);
  EXPECT_TRUE(
      eventually([&] { return json({"stat", handle})["object"]["age_ms"].number() > 14'000; }));
  EXPECT_EQ(good({"get", handle}), "x");
  running->signal(SIGINT);
  EXPECT_EQ(running->finish().exit_code, 0);
}

TEST_F(CliObject, TypesAreCheckedAndKnown) {
  up();
  const std::string numbers = sandbox_.write("numbers", std::string(24, '\0'));
  const JsonValue made = json({"put", numbers, "--type", "list<f64>"});
  EXPECT_EQ(made["type"].text(), "list<f64>");
  EXPECT_EQ(made["size"].count(), 24U);
  EXPECT_THAT(good({"stat", std::string(made["handle"].text())}),
              HasSubstr("type       list<f64>\n"));
  // What programs ask for: Ref<double[]>, Ref<std::byte[]> and Ref<std::string>.
  const auto type = [](std::string_view handle) { return Handle::parse(handle).value().type; };
  EXPECT_EQ(type(made["handle"].text()), detail::ObjectCodec<double[]>::type_hash());
  EXPECT_EQ(type(put({numbers})), detail::ObjectCodec<std::byte[]>::type_hash());
  EXPECT_EQ(type(put({numbers, "--text"})), detail::ObjectCodec<std::string>::type_hash());
  EXPECT_EQ(json({"put", numbers, "--type", "array<f64, 3>"})["type"].text().size(), 16U)
      << "of other types only the hash is known";
  expect(sandbox_.run({"put", numbers, "--type", "f64"}), Exit::bad_arguments,
         "24 bytes are no f64, which has 8");
  expect(sandbox_.run({"put", sandbox_.write("odd", "xyz"), "--type", "list<u16>"}),
         Exit::bad_arguments, "3 bytes are no list<u16>");
  expect(sandbox_.run({"put", numbers, "--type", "f65"}), Exit::bad_arguments, "'f65' is no type");
  expect(sandbox_.run({"put", numbers, "--type", "span<f64>"}), Exit::bad_arguments, "take a list");
}

TEST_F(CliObject, ObjectsListsThemAndTheMemoryTheyTake) {
  up();
  EXPECT_THAT(good({"objects"}), StartsWith("0 objects; memory: 0 B in use"));
  put({sandbox_.write("a", pattern(5000)), "--on", "n0"});
  put({sandbox_.write("b", "text"), "--on", "n1", "--text", "--lease", "1h"});
  EXPECT_THAT(good({"objects"}),
              AllOf(StartsWith("HOME  OBJECT "), HasSubstr("4.9 KiB  bytes"), HasSubstr("4 B  str"),
                    HasSubstr("lease, 59 min"), HasSubstr("\n2 objects; memory: ")));
  EXPECT_THAT(good({"objects", "n1"}), AllOf(HasSubstr("\n1 object; "), Not(HasSubstr("\nn0"))));
  const auto homes = json({"objects"})["nodes"].items();
  ASSERT_EQ(homes.size(), 2U);
  EXPECT_EQ(homes[0]["node"].text(), "n0");
  EXPECT_EQ(homes[0]["count"].count(), 1U);
  EXPECT_GE(homes[0]["used_bytes"].count(), 5000U);
  EXPECT_GE(homes[0]["held_bytes"].count(), homes[0]["used_bytes"].count());
  ASSERT_EQ(homes[1]["objects"].items().size(), 1U);
  EXPECT_EQ(homes[1]["objects"].items()[0]["size"].count(), 4U);
  EXPECT_EQ(homes[1]["objects"].items()[0]["lifetime"].text(), "lease");
  EXPECT_EQ(homes[1]["objects"].items()[0]["home"].text(), "n1");

  EXPECT_THAT(good({"status", "n0"}), HasSubstr(": 1, pins 0, borrows 0, holders "));
  EXPECT_THAT(good({"ls", "--json"}), HasSubstr(R"("objects": 1, "overdue": 0)"));
  EXPECT_THAT(good({"status", "--prometheus"}),
              AllOf(HasSubstr("godwit_objects{node=\"n0\"} 1\n"),
                    HasSubstr("godwit_objects_put_total{node=\"n1\"} 1\n"),
                    HasSubstr("godwit_object_used_bytes{node=\"n1\"} ")));
}

TEST_F(CliObject, ExplainSaysHowAnObjectWouldBeReachedAndWhy) {
  const std::string small = sandbox_.write("small", "x");
  const std::string large = sandbox_.write("large", pattern(std::size_t{5} << 20));
  up();
  EXPECT_THAT(good({"explain", put({small})}),
              AllOf(HasSubstr("home      n0 ("), HasSubstr("link      shm\n"),
                    HasSubstr("by message: up to 16.0 KiB"), HasSubstr("\nlocate    ")));
  const std::string mapped = put({large, "--on", "n1"});
  EXPECT_THAT(good({"explain", mapped}), HasSubstr("by mapping: its home is on this host"));
  const JsonValue measured = json({"explain", mapped, "--measure"});
  EXPECT_EQ(measured["by"].text(), "mapping");
  EXPECT_EQ(measured["measured"]["by"].text(), "mapping");
  EXPECT_GT(measured["ask_us"].number(), 0);
  EXPECT_GT(measured["measured"]["later_us"].number(), 0);
  EXPECT_EQ(measured["object"]["home"].text(), "n1");
  ASSERT_EQ(sandbox_.run({"down"}).exit_code, 0);

  up({"--tcp"});
  const std::string far = put({large, "--on", "n1"});
  EXPECT_THAT(good({"explain", far}), AllOf(HasSubstr("link      tcp\n"), HasSubstr("by stream: "),
                                            HasSubstr("in 2 pieces of up to 4.0 MiB")));
  EXPECT_EQ(json({"explain", far, "--measure"})["measured"]["by"].text(), "stream");
}

TEST_F(CliObject, FailuresSayWhatIsWrongAndHaveTheirExitCodes) {
  const std::string file = sandbox_.write("file", "x");
  expect(sandbox_.run({"put", file}), Exit::unreachable, "godwit up");
  expect(sandbox_.run({"objects"}), Exit::unreachable, "godwit up");
  up();
  expect(sandbox_.run({"put", sandbox_.file("nothing")}), Exit::bad_file, "cannot read '");
  expect(sandbox_.run({"put", sandbox_.path().string()}), Exit::bad_file, "directory");
  expect(sandbox_.run({"put", file, "--on", "n7"}), Exit::unreachable, "no node 'n7'");
  expect(sandbox_.run({"put", file, "--on", "all"}), Exit::usage, "an object has one home");
  expect(sandbox_.run({"put", file, "--persist"}), Exit::rejected, "persist");
  expect(sandbox_.run({"put"}), Exit::usage, "FILE");

  const std::string handle = put({file});
  expect(sandbox_.run({"get", handle.substr(0, 40)}), Exit::bad_arguments, "cut short");
  expect(sandbox_.run({"stat", "http://x"}), Exit::bad_arguments, "begins with gdw://");
  std::string forged = handle;
  forged.back() = forged.back() == 'A' ? 'Q' : 'A';  // in the mac
  expect(sandbox_.run({"get", forged}), Exit::permission, "");
  expect(sandbox_.run({"evict", forged}), Exit::permission, "");
  expect(sandbox_.run({"get", "unheard-of"}), Exit::bad_file, "no object is called 'unheard-of'");
  expect(sandbox_.run({"get", handle, "--range", "1:3"}), Exit::bad_arguments, "has 1 bytes");
  for (const char* range : {"1", "2:1", "-1:", "a:b", "1:2:3"}) {
    expect(sandbox_.run({"get", handle, "--range", range}), Exit::usage, "--range");
  }
  expect(sandbox_.run({"get", handle, "-o", sandbox_.file("no/where")}), Exit::bad_file,
         "cannot write '");
  const Ran mixed = sandbox_.run({"evict", handle, forged, "--json"});
  EXPECT_EQ(mixed.exit_code, static_cast<int>(Exit::permission)) << mixed.errors;
  EXPECT_THAT(mixed.output, AllOf(HasSubstr(R"("evicted": true)"), HasSubstr(R"("evicted": false)"),
                                  HasSubstr(R"("code": "permission")")));
  EXPECT_THAT(mixed.errors, HasSubstr("1 of 2 objects were not evicted"));
}

TEST_F(CliObject, AFullHomeSaysSo) {
  up({"--", "--object-budget-mb", "8"});
  const std::string large = sandbox_.write("large", pattern(std::size_t{9} << 20));
  const Ran ran = sandbox_.run({"put", large});
  EXPECT_EQ(ran.exit_code, static_cast<int>(Exit::rejected)) << ran.errors;
  EXPECT_EQ(ran.output, "");
  EXPECT_THAT(ran.errors, HasSubstr("budget"));
}

}  // namespace
}  // namespace godwit::cli
