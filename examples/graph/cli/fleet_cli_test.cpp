// The program on a fleet: every way prints what the reference prints.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cli/program_for_test.hpp"
#include "data/image.hpp"
#include "fleet/fleet_for_test.hpp"
#include "fleet/fleet_graph.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

// The last line tells how long it took.
std::string without_last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? "" : text.substr(0, end);
}

class GraphOnAFleet : public testing::Test {
 protected:
  GraphOnAFleet() {
    const Graph graph = universities(1);
    EXPECT_TRUE(write_image(graph, file_));
    good(FleetGraph::load(fleet_, code(), graph));
    address_ = fleet_.describe().front().addresses.front();
  }
  [[nodiscard]] Ended ask(const std::string& command, const std::string& rest,
                          const std::string& how) const {
    return run_graph(
        fmt::format("{} {} {} --how {} --fleet {}", command, file_, rest, how, address_));
  }

  TestFolder folder_;
  std::string file_ = folder_ / "u1.graph";
  Fleet fleet_ = good(Fleet::local(3, {.transport = LocalTransport::tcp}));
  std::string address_;
};

TEST_F(GraphOnAFleet, EveryCommandAnswersInEveryWay) {
  const std::string start = "http://university0.example/";
  const std::pair<std::string, std::string> commands[] = {
      {"query", "q5"},
      {"khop", start + " --hops 2 --direction in --rows 5"},
      {"bfs", start + " --direction both"},
      {"components", "--predicate ub:cites"},
      {"pagerank", "--predicate ub:cites --top 3"},
  };
  for (const auto& [command, rest] : commands) {
    const Ended expected = ask(command, rest, "reference");
    EXPECT_EQ(expected.exit, 0) << expected.output;
    EXPECT_GT(without_last_line(expected.output).size(), 20U) << expected.output;
    for (const char* how : {"travel", "pull"}) {
      const Ended found = ask(command, rest, how);
      EXPECT_EQ(found.exit, 0) << command << " " << how << "\n" << found.output;
      EXPECT_EQ(without_last_line(found.output), without_last_line(expected.output))
          << command << " " << how;
    }
  }
}

TEST_F(GraphOnAFleet, ALostNodeHasItsExitCode) {
  ASSERT_TRUE(fleet_.kill(fleet_.node(2)));
  for (const char* how : {"travel", "pull"}) {
    const Ended ended = ask("components", "", how);
    EXPECT_EQ(ended.exit, 8) << ended.output;
    EXPECT_NE(ended.output.find("lost"), std::string::npos) << ended.output;
  }
}

TEST(GraphWithoutAFleet, SaysWhatIsMissing) {
  TestFolder folder;
  const std::string file = folder / "x.graph";
  ASSERT_TRUE(write_image(graph_from("<x:a> <x:p> <x:b> .\n"), file));
  const Ended nowhere = run_graph(fmt::format("bfs {} x:a --how travel", file));
  EXPECT_EQ(nowhere.exit, 2) << nowhere.output;
  EXPECT_NE(nowhere.output.find("name it with --fleet"), std::string::npos) << nowhere.output;
  const Ended nobody =
      run_graph(fmt::format("bfs {} x:a --how pull --fleet tcp:127.0.0.1:1", file));
  EXPECT_EQ(nobody.exit, 8) << nobody.output;
}

}  // namespace
}  // namespace godwit::graph
