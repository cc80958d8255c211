// Regions in files: what is there after a restart, and what is said if it is not.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "base/folder_for_test.hpp"
#include "node/data_ops_for_test.hpp"
#include "node/traversal_for_test.hpp"

namespace godwit::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = Region<std::uint64_t>;
using Values = std::vector<std::uint64_t>;

constexpr std::uint64_t kElements = 30'000;

class FileRegions : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet start(std::size_t nodes = 3) const {
    return local(nodes,
                 {.transport = GetParam(),
                  .node_arguments = {"--region-dir=" + folder_.path().string(), "--jit=off"}});
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }
  static Result<Words> create(Fleet& fleet, std::string_view name = "words") {
    return Words::create(fleet, name, {.elements = kElements, .in_files = true});
  }
  static Words make(Fleet& fleet, std::string_view name = "words") {
    auto region = create(fleet, name);
    if (!region) throw std::runtime_error(region.error().message);
    return *std::move(region);
  }
  static Values values() {
    Values all(kElements);
    std::iota(all.begin(), all.end(), std::uint64_t{7});
    return all;
  }
  // Ends the node, and waits until this client knows.
  static void kill(Fleet& fleet, const NodeHandle& node) {
    ASSERT_TRUE(fleet.kill(node));
    ASSERT_TRUE(eventually([&] { return fleet.nodes().size() == 2; }));
  }
  // Starts it again, and waits until it serves the region, or says why it does not.
  static void restart(Fleet& fleet, const NodeHandle& node, const Words& region) {
    ASSERT_TRUE(fleet.restart(node));
    ASSERT_TRUE(eventually([&] {
      const auto got = region.load(kElements / 2);
      return got || got.error().message.find("is lost") != std::string::npos;
    }));
  }
  TestFolder folder_;
};

TEST_P(FileRegions, AreReachedByMessagesOnEveryTransport) {
  Fleet fleet = start();
  const Words region = make(fleet);
  EXPECT_TRUE(region.describe().in_files);
  for (const ShardDescription& shard : region.describe().shards) EXPECT_FALSE(shard.mapped);
  ASSERT_TRUE(region.store(0, values()));
  EXPECT_EQ(value_of(region.load(0, kElements)), values());
  EXPECT_EQ(value_of(region.fetch_add(17, 5).get()), 24U);
  EXPECT_EQ(failure_of(ops::chase(region, 0, 1, ops::Mechanism::direct).get()).reason,
            ErrorCode::unsupported);
  for (const char* name : {"words.0", "words.1", "words.2"}) {
    EXPECT_GE(std::filesystem::file_size(file(name)), kElements / 3 * 8);
  }
}

TEST_P(FileRegions, HaveWhatTheyHadWhenTheirNodeWasKilledAndStartedAgain) {
  Fleet fleet = start();
  const Words region = make(fleet);
  ASSERT_TRUE(region.store(0, values()));
  const NodeHandle node = fleet.find("n1").value();
  kill(fleet, node);
  const Failure lost = failure_of(region.load(kElements / 2));
  EXPECT_EQ(lost.ending, Ending::node_lost);
  EXPECT_THAT(lost.message, HasSubstr("element 15000 of region 'words'"));
  restart(fleet, node, region);
  EXPECT_EQ(value_of(region.load(0, kElements)), values());
  EXPECT_FALSE(region.describe().shards.at(1).lost);
  EXPECT_EQ(value_of(ops::sum(region).get()), kElements * 7 + kElements * (kElements - 1) / 2);
  EXPECT_TRUE(region.store(kElements / 2, 1)) << "and can be changed";
}

TEST_P(FileRegions, OfAFleetThatEndedAreFoundByCreatingThemAgain) {
  {
    Fleet fleet = start();
    ASSERT_TRUE(make(fleet).store(0, values()));
  }
  Fleet fleet = start();
  EXPECT_EQ(Words::attach(fleet, "words").error().code, ErrorCode::not_found)
      << "files are data; that there is a region, a fleet knows";
  Words region = make(fleet);
  EXPECT_EQ(value_of(region.load(0, kElements)), values());
  ASSERT_TRUE(region.drop());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_EQ(value_of(make(fleet).load(3)), 0U) << "dropped is dropped";
}

TEST_P(FileRegions, WhoseFileIsGoneAfterARestartAreLostThereAndNotZeros) {
  Fleet fleet = start();
  Words region = make(fleet);
  ASSERT_TRUE(region.store(0, values()));
  const NodeHandle node = fleet.find("n1").value();
  kill(fleet, node);
  std::filesystem::remove(file("words.1"));
  restart(fleet, node, region);
  const Failure failure = failure_of(region.load(kElements / 2));
  EXPECT_EQ(failure.reason, ErrorCode::node_lost) << to_string(failure);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("of region 'words'"), HasSubstr("words.1 is gone")));
  EXPECT_FALSE(std::filesystem::exists(file("words.1")));
  EXPECT_EQ(failure_of(ops::sum(region).get()).reason, ErrorCode::node_lost);
  EXPECT_EQ(value_of(region.load(0, 5)), (Values{7, 8, 9, 10, 11})) << "the rest goes on";
  EXPECT_TRUE(region.drop());
}

TEST_P(FileRegions, ThatOneNodeCannotMakeAreNotMadeAndKeepWhatTheOthersHad) {
  {
    Fleet fleet = start();
    ASSERT_TRUE(make(fleet).store(0, values()));
  }
  std::filesystem::rename(file("words.1"), file("elsewhere"));
  std::ofstream(file("words.1")) << "somebody's letter";
  Fleet fleet = start();
  const auto refused = create(fleet);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("region 'words' on node n1"),
                                             HasSubstr("words.1"), HasSubstr("remove it")));
  std::filesystem::rename(file("elsewhere"), file("words.1"));
  EXPECT_EQ(value_of(make(fleet).load(0, kElements)), values());
}

TEST_P(FileRegions, DroppedWhileANodeIsAwaySayWhichFileIsLeft) {
  Fleet fleet = start();
  Words region = make(fleet);
  kill(fleet, fleet.find("n2").value());
  const Status dropped = region.drop();
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code, ErrorCode::node_lost);
  EXPECT_THAT(dropped.error().message, AllOf(HasSubstr("'words' is dropped"),
                                             HasSubstr("remove words.2"), HasSubstr("node n2")));
  EXPECT_EQ(Words::attach(fleet, "words").error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(file("words.0")));
  EXPECT_TRUE(std::filesystem::exists(file("words.2")));
}

TEST_P(FileRegions, NeedAFolderThatTheNodesCanUse) {
  Fleet none = local(1, {.transport = GetParam()});
  const auto unset = create(none);
  ASSERT_FALSE(unset);
  EXPECT_EQ(unset.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(unset.error().message, HasSubstr("set region_dir"));
  std::filesystem::create_directory(file("gone"));
  Fleet gone =
      local(1, {.transport = GetParam(), .node_arguments = {"--region-dir=" + file("gone")}});
  std::filesystem::remove(file("gone"));
  const auto missing = create(gone);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_THAT(missing.error().message,
              AllOf(HasSubstr("on node n0"), HasSubstr("gone/words.0"), HasSubstr("region_dir")));
  std::filesystem::create_directories(file("gone/words.0"));
  EXPECT_EQ(create(gone).error().code, ErrorCode::io) << "a folder in the file's place";
  std::filesystem::remove(file("gone/words.0"));
  EXPECT_TRUE(create(gone)) << "and now it can be made";
}

INSTANTIATE_TEST_SUITE_P(Over, FileRegions,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

// --- A storage node: no JIT, native slices only -------------------------------------------------

class StorageNode : public testing::Test {
 protected:
  TestFolder folder_;
  Fleet fleet_ =
      local(2, {.transport = LocalTransport::tcp,
                .node_arguments = {"--region-dir=" + folder_.path().string(), "--jit=off"}});
};

TEST_F(StorageNode, ReducesMovesAndUpdatesAtTheData) {
  auto region = make_region<double>(fleet_, "heights", {.elements = 1000, .in_files = true});
  std::vector<double> heights(1000);
  std::iota(heights.begin(), heights.end(), 0.5);
  ASSERT_TRUE(region.store(0, heights));
  const auto some = value_of(ops::aggregate(region, {.at_least = 990}).get());
  EXPECT_EQ(some.count, 10U);
  EXPECT_EQ(some.sum, 9950.0);
  EXPECT_EQ(value_of(ops::top(region, 2).get()).at(1), (ops::Entry<double>{998, 998.5}));
  EXPECT_EQ(value_of(ops::histogram(region, {.low = 0, .high = 100, .count = 2}).get()).counts,
            (std::vector<std::uint64_t>{50, 50}));
  EXPECT_EQ(value_of(ops::accumulate(region, 3, ops::Join::max, 70.0).get()), 3.5);
  ASSERT_TRUE(ops::scatter_add(region, Values{1, 999}, std::vector<double>{1, 2}).get());
  EXPECT_EQ(value_of(region.gather(Values{1, 3, 999}).get()),
            (std::vector<double>{2.5, 70.0, 1001.5}));
  ASSERT_TRUE(ops::multicast(region, 0, std::vector<double>{-1}).get());
  EXPECT_EQ(value_of(ops::min(region).get()), -1.0);
}

TEST_F(StorageNode, SearchesListsTreesTablesAndGraphs) {
  auto list = make_region<std::uint64_t>(fleet_, "list", {.elements = 100, .in_files = true});
  Values next(100);
  for (std::uint64_t i = 0; i < 100; ++i) next[i] = (i + 37) % 100;
  ASSERT_TRUE(list.store(0, next));
  EXPECT_EQ(value_of(ops::chase(list, 0, 50, ops::Mechanism::code).get()), 50U * 37U % 100U);
  auto table = make_region<ops::HashSlot>(fleet_, "table", {.elements = 64, .in_files = true});
  ASSERT_TRUE(ops::hash_put(table, 7, 42).get());
  EXPECT_EQ(value_of(ops::hash_get(table, 7).get()), 42U);
  auto tree = make_region<ops::TreeNode>(fleet_, "tree",
                                         {.elements = ops::tree_nodes(500), .in_files = true});
  std::vector<ops::TreeEntry> entries;
  for (std::uint64_t key = 0; key < 500; ++key) entries.push_back({3 * key, key});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  EXPECT_EQ(value_of(ops::find(tree, 300).get()).value().value, 100U);
  EXPECT_EQ(value_of(ops::scan(tree, {.from = 30, .to = 32}).get()).entries.size(), 1U);
  const auto graph =
      ops::Graph::create(fleet_, "ring", Values{0, 1, 2, 3}, Values{1, 2, 0}).value();
  EXPECT_EQ(value_of(graph.k_hop(1, {.hops = 1}).get()), (Values{1, 2}));
}

TEST_F(StorageNode, RunsNativeSlicesOfUsersAndSaysThatItHasNoJitForOthers) {
  auto region = make_region<std::uint64_t>(fleet_, "words", {.elements = 100, .in_files = true});
  Values values(100);
  std::iota(values.begin(), values.end(), std::uint64_t{0});
  ASSERT_TRUE(region.store(0, values));
  const auto count_above = own<std::uint64_t(ops::TreePart, std::uint64_t)>("count_above");
  EXPECT_EQ(value_of(ops::fold(region, count_above, 89).get()), 10U);
  const auto bitcode = kernels(GODWIT_TEST_BITCODE_BUNDLE).function<Add>("add").value();
  const Failure failure = failure_of(bitcode.on(fleet_.node(0))(1, 2).get());
  EXPECT_EQ(failure.reason, ErrorCode::no_slice) << to_string(failure);
  EXPECT_FALSE(failure.may_have_started);
  EXPECT_THAT(failure.message, HasSubstr("no JIT"));
}

}  // namespace
}  // namespace godwit::node
