#include "trace/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/folder_for_test.hpp"

namespace godwit::trace {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

class FakeClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return time; }
  Time time;
};

class LogTest : public testing::Test {
 protected:
  Log make(Log::Options options) {
    options.sink = [this](std::string_view line) { lines.emplace_back(line); };
    options.clock = &clock;
    return Log::create(std::move(options)).value();
  }

  FakeClock clock;
  std::vector<std::string> lines;
};

TEST_F(LogTest, WritesTimeLevelSourceAndMessage) {
  Log log = make({.source = "n1"});
  log.warn("link {} is down", 7);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ "
                                     "warn n1: link 7 is down"));
}

TEST_F(LogTest, JsonLinesSurviveHostileMessages) {
  Log log = make({.format = LogFormat::json, .source = "n\"1"});
  log.info("{}", "line\nbreak \"and\" %v {} \xFF");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], EndsWith("\"level\":\"info\",\"source\":\"n\\\"1\","
                                 "\"message\":\"line\\nbreak \\\"and\\\" %v {} \xEF\xBF\xBD\"}"));
  EXPECT_THAT(lines[0], HasSubstr("{\"time\":\"2"));
}

TEST_F(LogTest, OneMessageIsOneLineWithoutControlCharacters) {
  Log log = make({});
  log.error("a\nb\x1b[31m");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], EndsWith("error a b [31m"));
}

TEST_F(LogTest, WritesNothingBelowItsLevel) {
  Log log = make({.level = Level::warn});
  log.debug("no");
  log.info("no");
  log.write(Level::off, "no", "no");
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(log.enabled(Level::info));
  EXPECT_TRUE(log.enabled(Level::warn));
}

TEST_F(LogTest, SilentLogsAcceptEverything) {
  Log log = Log::silent();
  log.error("into the void");
  log.write(Level::off, "kind", "text");
  log.flush();
  EXPECT_FALSE(log.enabled(Level::error));
}

TEST_F(LogTest, HoldsRepetitionsBackAndSaysHowMany) {
  Log log = make({.repeat_limit = 2, .repeat_window = std::chrono::seconds(1)});
  for (int i = 0; i < 5; ++i) log.info("peer {} is slow", i);
  log.info("something else");
  EXPECT_EQ(lines.size(), 3U);
  clock.time = clock.time + std::chrono::seconds(1);
  log.info("peer {} is slow", 5);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[3], EndsWith("warn held back 3 more messages like: peer {} is slow"));
  EXPECT_THAT(lines[4], EndsWith("info peer 5 is slow"));
}

TEST_F(LogTest, ReportsWhatIsHeldBackWhenItEnds) {
  {
    Log log = make({.repeat_limit = 1});
    for (int i = 0; i < 3; ++i) log.info("again");
  }
  EXPECT_THAT(lines, ElementsAre(EndsWith("info again"),
                                 EndsWith("held back 2 more messages like: again")));
}

TEST_F(LogTest, CutsMessagesAtTheLimit) {
  Log log = make({});
  log.info("{}", std::string(Log::kMessageLimit + 1, 'x'));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], EndsWith("x... (cut: 16385 bytes)"));
}

TEST_F(LogTest, ThreadsShareItWithoutTearingLines) {
  Log log = make({.repeat_limit = 1'000'000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 200; ++i) log.info("number {} of many", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(lines.size(), 800U);
  for (const std::string& line : lines) EXPECT_THAT(line, EndsWith(" of many"));
}

TEST(LogFile, IsWrittenAndAnUnwritableOneIsAnError) {
  const TestFolder folder;
  const std::string path = folder / "node.log";
  {
    Log log = Log::create({.source = "n1", .path = path}).value();
    log.info("to the file");
  }
  std::ifstream file(path);
  std::string line;
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, EndsWith("info n1: to the file"));

  const auto bad = Log::create({.path = path + "/below-a-file.log"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::io);
  EXPECT_THAT(bad.error().message, HasSubstr("below-a-file.log"));
}

TEST(LogLevel, ParsesWhatItPrints) {
  for (const Level level : {Level::debug, Level::info, Level::warn, Level::error, Level::off}) {
    EXPECT_EQ(parse_level(to_string(level)).value(), level);
  }
  const auto bad = parse_level("loud");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("'loud'"));
}

}  // namespace
}  // namespace godwit::trace
