#include "data/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/random.hpp"
#include "test_graphs.hpp"

namespace godwit::graph {
namespace {

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Image, HoldsTheSameGraph) {
  TestFolder folder;
  Random random(3);
  const Graph graph = random_graph(random, 40, 300);
  ASSERT_TRUE(write_image(graph, folder / "x.graph"));
  EXPECT_TRUE(looks_like_image(folder / "x.graph"));
  const auto again = read_image(folder / "x.graph");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->dictionary().text(), graph.dictionary().text());
  EXPECT_EQ(all_triples(*again), all_triples(graph));
  EXPECT_TRUE(std::ranges::equal(again->in().edges, graph.in().edges));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Image, OfNothingIsAGraphToo) {
  TestFolder folder;
  ASSERT_TRUE(write_image(graph_from(""), folder / "x.graph"));
  const auto again = read_image(folder / "x.graph");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->triples(), 0U);
}

TEST(Image, CutAnywhereIsRefused) {
  TestFolder folder;
  ASSERT_TRUE(write_image(graph_from("<x:a> <x:p> <x:b> .\n"), folder / "x.graph"));
  const std::string whole = read_bytes(folder / "x.graph");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_bytes(folder / "cut.graph", whole.substr(0, size));
    const auto graph = read_image(folder / "cut.graph");
    ASSERT_FALSE(graph) << size;
    ASSERT_EQ(graph.error().code, ErrorCode::bad_format) << graph.error().message;
  }
  write_bytes(folder / "long.graph", whole + "x");
  EXPECT_FALSE(read_image(folder / "long.graph"));
}

TEST(Image, DamagedAnywhereIsRefusedOrStillAGraph) {
  TestFolder folder;
  Random random(5);
  ASSERT_TRUE(write_image(random_graph(random, 6, 15), folder / "x.graph"));
  const std::string whole = read_bytes(folder / "x.graph");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    write_bytes(folder / "damaged.graph", damaged);
    const auto graph = read_image(folder / "damaged.graph");
    if (!graph) {
      ++refused;
      continue;
    }
    // What is accepted can be walked: every id is in range.
    for (const Triple& triple : all_triples(*graph)) {
      ASSERT_LT(std::max({triple.subject, triple.predicate, triple.object}), graph->terms());
    }
  }
  EXPECT_GT(refused, 40);
}

TEST(Image, AFileThatIsMissingOrOtherIsSaidToBe) {
  TestFolder folder;
  EXPECT_EQ(read_image(folder / "none.graph").error().code, ErrorCode::not_found);
  EXPECT_FALSE(looks_like_image(folder / "none.graph"));
  write_bytes(folder / "text.graph", std::string(100, 'x'));
  EXPECT_EQ(read_image(folder / "text.graph").error().code, ErrorCode::bad_format);
  EXPECT_EQ(write_image(Graph(), "/nowhere/x.graph").error().code, ErrorCode::io);
}

}  // namespace
}  // namespace godwit::graph
