// `godwit stream`, with a fleet of its own. The usual session is streams_smoke.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exit.hpp"
#include "ref/channel/redis/redis_for_test.hpp"
#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using testing::HasSubstr;
using trace::JsonValue;

class CliStream : public testing::Test {
 protected:
  void SetUp() override {
    const Ran ran = sandbox_.run({"up", "2"});
    ASSERT_EQ(ran.exit_code, 0) << ran.output << ran.errors;
    lines_ = sandbox_.write("lines.txt", "one\ntwo\n\nlast without an end");
  }
  std::string good(const std::vector<std::string>& arguments) {
    const Ran ran = sandbox_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    return ran.output;
  }
  void bad(const std::vector<std::string>& arguments, Exit exit, const std::string& says) {
    const Ran ran = sandbox_.run(arguments);
    EXPECT_EQ(ran.exit_code, static_cast<int>(exit)) << ran.output << ran.errors;
    EXPECT_THAT(ran.errors, HasSubstr(says));
  }

  Sandbox sandbox_;
  std::string lines_;
};

TEST_F(CliStream, LinesArriveOnceInEveryGroupAndThenTheEnd) {
  const auto sent = JsonValue::parse(good({"stream", "send", "log", lines_, "--close", "--json"}));
  ASSERT_TRUE(sent);
  EXPECT_EQ((*sent)["items"].count(), 4);
  EXPECT_EQ((*sent)["home"].text(), "n0");
  const std::string all = "one\ntwo\n\nlast without an end\n";
  EXPECT_EQ(good({"stream", "recv", "log", "--group", "a", "--count", "2"}), "one\ntwo\n");
  EXPECT_EQ(good({"stream", "recv", "log", "--group", "a"}), "\nlast without an end\n");
  EXPECT_EQ(good({"stream", "recv", "log", "--group", "a"}), "") << "all is acked";
  bad({"stream", "send", "log", lines_}, Exit::rejected, "closed");
}

TEST_F(CliStream, KeysSelectAndOffsetsGoBack) {
  good({"stream", "send", "log", lines_, "--key", "cold", "--replay", "100"});
  good({"stream", "send", "log", lines_, "--key", "hot"});
  EXPECT_EQ(
      good({"stream", "recv", "log", "--key", "hot", "--count", "1", "--json", "--group", "h"}),
      "{\"offset\": 4, \"key\": \"hot\", \"deliveries\": 1, \"text\": \"one\"}\n");
  good({"stream", "recv", "log", "--group", "all", "--count", "8"});
  EXPECT_EQ(good({"stream", "recv", "log", "--group", "late", "--from", "3", "--count", "2"}),
            "last without an end\none\n");
  bad({"stream", "recv", "log", "--group", "x", "--from", "99", "--wait", "1s"},
      Exit::bad_arguments, "offset 99");
  bad({"stream", "recv", "log", "--from", "yesterday"}, Exit::usage, "yesterday");
}

TEST_F(CliStream, WhatComesToNothingSaysWhy) {
  bad({"stream", "stat", "nothing"}, Exit::bad_file, "no node has a topic 'nothing'");
  bad({"stream", "recv", "quiet", "--wait", "50ms"}, Exit::deadline, "nothing new");
  bad({"stream", "send", "log", "/does/not/exist"}, Exit::bad_file, "/does/not/exist");
  bad({"stream", "send", "log", lines_, "--on", "n9"}, Exit::unreachable, "n9");
  EXPECT_THAT(good({"stream", "ls"}), HasSubstr("quiet"));
  const auto listed = JsonValue::parse(good({"stream", "ls", "--json"}));
  ASSERT_TRUE(listed);
  EXPECT_EQ((*listed)["topics"].items().size(), 2) << "an error makes topics, too";
  good({"stream", "rm", "quiet", "--group", "godwit"});
  good({"stream", "rm", "quiet"});
}

TEST_F(CliStream, ARedisServerIsABrokerWithoutAFleet) {
  const ref::RedisForTest server;
  const std::string at = "--broker=" + server.url();
  good({"stream", "send", "log", lines_, "--key", "k", at});
  EXPECT_EQ(good({"stream", "recv", "log", "--count", "2", at}), "one\ntwo\n");
  EXPECT_EQ(good({"stream", "recv", "log", "--count", "1", "--json", at}),
            "{\"offset\": 2, \"key\": \"k\", \"deliveries\": 1, \"text\": \"\"}\n");
  EXPECT_THAT(good({"stream", "stat", "log", at}), HasSubstr("4 items"));
  EXPECT_THAT(good({"stream", "ls", at}), HasSubstr(server.address()));
  good({"stream", "close", "log", at});
  EXPECT_EQ(good({"stream", "recv", "log", at}), "last without an end\n");
  good({"stream", "rm", "log", at});
  bad({"stream", "stat", "log", at}, Exit::bad_file, "log");
  bad({"stream", "ls", "--broker", "kafka://x"}, Exit::internal, "kafka");
  const std::string large = sandbox_.write("large", std::string(1'000'000, 'x'));
  good({"stream", "send", "frames", large, "--whole", at, "--on", "n1"});
  EXPECT_THAT(good({"objects"}), HasSubstr("n1")) << "it is an object";
  EXPECT_EQ(good({"stream", "recv", "frames", "--count", "1", "--raw", at, "--on", "n0"}).size(),
            1'000'000);
}

}  // namespace
}  // namespace godwit::cli
