// `godwit region`, with a fleet of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exit.hpp"
#include "sandbox_test.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CliRegion : public testing::Test {
 protected:
  void up(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"up", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = sandbox_.run(arguments);
    ASSERT_EQ(ran.exit_code, 0) << ran.output << ran.errors;
  }
  Ran region(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "region");
    return sandbox_.run(arguments);
  }
  // The output of one that works.
  std::string good(const std::vector<std::string>& arguments) {
    const Ran ran = region(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    return ran.output;
  }
  trace::JsonValue json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const std::string text = good(arguments);
    auto read = trace::JsonValue::parse(text);
    if (!read) {
      ADD_FAILURE() << read.error().message << "\n" << text;
      return {};
    }
    return *std::move(read);
  }
  static void expect(const Ran& ran, Exit exit, const std::string& message) {
    EXPECT_EQ(ran.exit_code, static_cast<int>(exit)) << ran.output << ran.errors;
    EXPECT_THAT(ran.errors, HasSubstr(message));
    EXPECT_EQ(ran.output, "");
  }
  Sandbox sandbox_;
};

TEST_F(CliRegion, CreateLsPutGetDrop) {
  up();
  EXPECT_EQ(good({"create", "list", "1000"}), "region 'list': 1000 elements on 2 nodes\n");
  EXPECT_EQ(good({"put", "list", "7", "42"}), "");
  EXPECT_EQ(good({"get", "list", "7"}), "42\n");
  EXPECT_EQ(good({"get", "list", "999"}), "0\n");
  EXPECT_THAT(good({"ls"}), AllOf(HasSubstr("NAME  TYPE  ELEMENTS  CAPACITY  SHARDS  LOST  STATE"),
                                  HasSubstr("list  u64       1000      1000       2     0  live")));
  EXPECT_EQ(good({"drop", "list"}), "");
  EXPECT_TRUE(eventually([&] { return good({"ls"}).find("list") == std::string::npos; }));
}

TEST_F(CliRegion, ElementsAreOfAnyTypeAndDealtOutInAnyWay) {
  up();
  good({"create", "grid", "10", "--type", "array<f64, 2>", "--sharding", "cyclic:3"});
  good({"put", "grid", "4", "[1, -0.5]", "[2e3, inf]"});
  EXPECT_EQ(good({"get", "grid", "3", "4"}), "[0, 0]\n[1, -0.5]\n[2000, inf]\n[0, 0]\n");
  const auto values = json({"get", "grid", "4", "2"})["values"].items();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].items()[1].number(), -0.5);
  EXPECT_THAT(good({"ls"}), HasSubstr("array<f64, 2>"));

  good({"create", "small", "5", "--type", "i8", "--sharding", "hashed", "--capacity", "9"});
  good({"put", "small", "0", "-1", "-128", "0x7f"});
  EXPECT_EQ(good({"get", "small", "0", "5"}), "-1\n-128\n127\n0\n0\n");
  expect(region({"put", "small", "3", "1", "128"}), Exit::bad_arguments, "value 2 of 2, '128'");
  EXPECT_EQ(good({"get", "small", "3"}), "0\n");
  expect(region({"put", "small", "4", "1", "1"}), Exit::bad_arguments, "region 'small'");
  expect(region({"get", "small", "0", "6"}), Exit::bad_arguments, "region 'small'");
}

TEST_F(CliRegion, EveryCommandSpeaksJson) {
  up();
  const auto made = json({"create", "list", "10"});
  EXPECT_EQ(made["name"].text(), "list");
  EXPECT_EQ(made["elements"].count(), 10U);
  EXPECT_EQ(made["shards"].count(), 2U);
  EXPECT_EQ(json({"put", "list", "3", "5"})["done"].text(), "stored");
  const auto got = json({"get", "list", "3"});
  EXPECT_EQ(got["index"].count(), 3U);
  ASSERT_EQ(got["values"].items().size(), 1U);
  EXPECT_EQ(got["values"].items()[0].count(), 5U);
  const auto listed = json({"ls"})["regions"].items();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["name"].text(), "list");
  EXPECT_EQ(listed[0]["state"].text(), "live");
  EXPECT_EQ(json({"drop", "list"})["done"].text(), "dropped");
}

TEST_F(CliRegion, ExplainsEveryOperation) {
  up();
  good({"create", "list", "1000"});
  EXPECT_THAT(good({"explain", "list"}),
              AllOf(HasSubstr("64 steps: direct, because every shard is mapped here"),
                    HasSubstr("n0"), HasSubstr("n1"), HasSubstr("hop")));
  for (const char* operation :
       {"chase", "get", "gather", "list_find", "tree_find", "hash_get", "k_hop", "reduce"}) {
    const auto decision = json({"explain", "list", "--op", operation});
    EXPECT_EQ(decision["operation"].text(), operation);
    EXPECT_NE(decision["why"].text(), "") << operation;
    ASSERT_EQ(decision["candidates"].items().size(), 3U) << operation;
    ASSERT_EQ(decision["shards"].items().size(), 2U) << operation;
  }
  EXPECT_EQ(json({"explain", "list", "--op", "reduce"})["steps"].count(), 1000U);
  const auto forced = json({"explain", "list", "--steps", "5", "--by", "code"});
  EXPECT_EQ(forced["steps"].count(), 5U);
  EXPECT_EQ(forced["chosen"].text(), "code");
  EXPECT_EQ(forced["why"].text(), "it was asked for");
}

TEST_F(CliRegion, FailuresSayWhatIsWrongAndHaveTheirExitCodes) {
  expect(region({"ls"}), Exit::unreachable, "godwit up");
  up();
  good({"create", "list", "10"});
  expect(region({"create", "list", "10"}), Exit::already_exists, "'list'");
  expect(region({"create", "../list", "10"}), Exit::bad_arguments, "cannot name a region");
  expect(region({"create", "none", "0"}), Exit::bad_arguments, "'none'");
  expect(region({"create", "files", "10", "--in-files"}), Exit::bad_arguments, "set region_dir");
  expect(region({"get", "list", "10"}), Exit::bad_arguments, "element 10 of region 'list'");
  expect(region({"put", "list", "10", "1"}), Exit::bad_arguments, "element 10 of region 'list'");
  expect(region({"get", "list", "-1"}), Exit::usage, "INDEX");
  expect(region({"put", "list", "1", "many"}), Exit::bad_arguments, "'many', is no u64");
  expect(region({"create", "text", "1", "--type", "str"}), Exit::bad_arguments, "'str' cannot be");
  expect(region({"create", "odd", "1", "--type", "u65"}), Exit::bad_arguments, "'u65' is no type");
  expect(region({"create", "odd", "many"}), Exit::usage, "ELEMENTS");
  expect(region({"create", "odd", "1", "--sharding", "cyclic:0"}), Exit::bad_arguments,
         "cyclic:CHUNK");
  expect(region({"get", "list", "0", "1000000000"}), Exit::rejected, "ask for fewer");
  expect(region({"explain", "list", "--op", "guess"}), Exit::usage, "--op");
  expect(region({"explain", "list", "--by", "magic"}), Exit::usage, "--by");
  expect(region({"put", "list", "1"}), Exit::usage, "at least one VALUE");
  expect(region({"forget", "list"}), Exit::usage, "");
}

TEST_F(CliRegion, ARegionThatIsNotThereIsWaitedForAndThenMissed) {
  up();
  expect(region({"get", "nothing", "0"}), Exit::bad_file, "no region is called 'nothing'");
}

TEST_F(CliRegion, InFilesKeepsItsElementsWhileTheFleetIsDown) {
  const std::string folder = sandbox_.file("regions");
  std::filesystem::create_directory(folder);
  up({"--", "--region-dir", folder});
  EXPECT_THAT(good({"create", "list", "100", "--in-files"}), HasSubstr("100 elements on 2 nodes"));
  good({"put", "list", "99", "7"});
  ASSERT_EQ(sandbox_.run({"down"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/list.1"));
  up({"--", "--region-dir", folder});
  EXPECT_TRUE(json({"create", "list", "100", "--in-files"})["in_files"].truth());
  EXPECT_EQ(good({"get", "list", "99"}), "7\n");
  good({"drop", "list"});
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace godwit::cli
