// The program as a person meets it: what it prints and how it ends.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cli/program_for_test.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

class GraphCommand : public testing::Test {
 protected:
  // Words for a shell; $D is the test's own folder.
  Ended graph(const std::string& words) {
    return run_graph(words, fmt::format("D='{}';", folder_.path().string()));
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  void expect(const std::string& words, int exit, const std::string& part) {
    const Ended ended = graph(words);
    EXPECT_EQ(ended.exit, exit) << words << "\n" << ended.output;
    EXPECT_NE(ended.output.find(part), std::string::npos) << words << "\n" << ended.output;
  }

  TestFolder folder_;
};

constexpr const char* kPeople =
    "<x:ann> <x:knows> <x:bob> .\n"
    "<x:bob> <x:knows> <x:cem> .\n"
    "<x:ann> <x:age> \"41\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
    "<x:bob> <x:name> \"Bob, \\\"B\\\"\" .\n";

TEST_F(GraphCommand, ExplainsItself) {
  expect("", 0, "A first run:");
  expect("--help", 0, "Exit codes:");
  for (const char* command :
       {"generate", "generate universities", "generate rmat", "load", "query", "khop", "bfs",
        "components", "pagerank", "stats", "compare", "scaling"}) {
    expect(fmt::format("{} --help", command), 0, fmt::format("Usage: graph {} ", command));
    expect(fmt::format("{} --help", command), 0, "Examples:\n  $ graph ");
  }
}

TEST_F(GraphCommand, AnswersInTextCsvAndJson) {
  write("people.nt", kPeople);
  expect("load $D/people.nt -o $D/people.graph", 0, "4 triples, 8 terms");
  for (const char* file : {"$D/people.nt", "$D/people.graph"}) {
    const auto query = [&](const char* rest) {
      return fmt::format(
          "query {} 'SELECT ?who ?name {{ ?who <x:knows> ?x . ?who <x:name> ?name }}' {}", file,
          rest);
    };
    expect(query(""), 0, "who      name\n<x:bob>  \"Bob, \\\"B\\\"\"\n1 rows");
    expect(query("--csv"), 0, "who,name\r\nx:bob,\"Bob, \"\"B\"\"\"\r\n");
    expect(query("--json"), 0, R"("rows": [["<x:bob>", "\"Bob, \\\"B\\\"\""]])");
    expect(query("--count"), 0, "1\n");
    expect(query("--explain"), 0, "1. ?who <x:name> ?name");
  }
}

TEST_F(GraphCommand, ShowsTwentyRowsUnlessAskedForMore) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += fmt::format("<x:{}> <x:p> <x:o> .\n", i);
  write("x.nt", text);
  expect("query $D/x.nt 'SELECT ?s { ?s <x:p> ?o }'", 0, "... and 10 more; --rows 0 shows all\n30");
  expect("query $D/x.nt 'SELECT ?s { ?s <x:p> ?o }' --rows 0", 0, "<x:29>\n30 rows");
  expect("khop $D/x.nt x:o --direction in --hops 1", 0, "... and 11 more");
}

TEST_F(GraphCommand, WalksAndRanks) {
  write("people.nt", kPeople);
  expect("khop $D/people.nt x:ann --hops 2 --predicate x:knows", 0, "<x:ann>\n<x:bob>\n<x:cem>\n");
  expect("bfs $D/people.nt '<x:cem>' --direction in --json", 0, R"("levels": [1, 1, 1])");
  expect("components $D/people.nt --json", 0, R"("components": 1, "largest": 5)");
  expect("pagerank $D/people.nt --predicate x:knows --top 1", 0, "<x:cem>");
  expect("stats $D/people.nt --json", 0, R"("triples": 4, "terms": 8)");
  expect("stats $D/people.nt", 0, "per edge, both directions");
}

TEST_F(GraphCommand, EachMistakeHasItsExitCode) {
  write("people.nt", kPeople);
  write("bad.nt", "<x:a> <x:p> <x:b> .\n<x:a> <x:p> .\n");
  write("cut.graph", "GDWGRAPH");
  expect("nonsense", 2, "graph --help");
  expect("query", 2, "graph query --help");
  expect("generate rmat --scale 99 -o $D/r.nt", 2, "scale is from 1 to 31");
  expect("generate universities -o $D/u.txt", 2, "should end in .nt or .graph");
  expect("khop $D/people.nt 'not a term'", 2, "is no term");
  expect("query $D/people.nt 'SELECT ?x { ?x }'", 3, "line 1, column 16");
  expect("stats $D/none.nt", 4, "cannot open");
  expect("load $D/people.nt -o $D/no/people.graph", 4, "cannot write");
  expect("stats $D/bad.nt", 5, "bad.nt:2:13: an object is");
  expect("stats $D/cut.graph", 5, "too short");
  expect("query $D/people.nt q99", 6, "there is no query 'q99'");
  expect("khop $D/people.nt x:nobody", 6, "the graph has no term <x:nobody>");
  expect("bfs $D/people.nt x:ann --predicate x:bob", 6, "no triple has the predicate <x:bob>");
  expect("query $D/people.nt q99 --json", 6, R"("exit": "unknown", "exit_code": 6)");
}

TEST_F(GraphCommand, GeneratesTheSameAsTextAndAsAnImage) {
  expect("generate rmat --scale 6 --seed 3 -o $D/r.nt", 0, "1,024 triples");
  expect("generate rmat --scale 6 --seed 3 -o $D/r.graph", 0, " triples");
  expect("load $D/r.nt -o $D/again.graph", 0, " triples");
  const auto bytes = [&](const char* name) {
    std::ifstream file(folder_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes("r.graph"), bytes("again.graph"));
  EXPECT_GT(bytes("r.graph").size(), 1000U);
}

}  // namespace
}  // namespace godwit::graph
