// A function at every node along a tree: once at each, and what is not known is named.
#include "node/mobile_ops_for_test.hpp"

namespace godwit::node {
namespace {

class NodeMulticast : public testing::TestWithParam<LocalTransport> {
 protected:
  std::uint64_t visits(std::uint64_t node) { return value_of(words_.load(node)); }

  // Seven nodes: a root, four below it, two below those.
  Fleet fleet_ = local(7, {.transport = GetParam()});
  Region<std::uint64_t> words_ = make_region<std::uint64_t>(fleet_, "visits", {.elements = 7});
  const Function<void(std::string_view, std::uint64_t)> visit_ =
      mobile<void(std::string_view, std::uint64_t)>("note_visit");
};

TEST_P(NodeMulticast, ItRunsOnceAtEveryNode) {
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const auto told = ops::multicast(fleet_, visit_, "visits", 5).get();
    ASSERT_TRUE(told) << to_string(told.error());
    EXPECT_EQ(value_of(words_.load(0, 7)), std::vector<std::uint64_t>(7, 5 * round));
  }
  const std::vector<NodeHandle> two{fleet_.node(6), fleet_.node(2)};
  ASSERT_TRUE(ops::multicast(two, visit_, "visits", 1).get());
  EXPECT_EQ(visits(6), 16U);
  EXPECT_EQ(visits(2), 16U);
  EXPECT_EQ(visits(0), 15U);
}

TEST_P(NodeMulticast, MobileCodeReachesEveryNodeToo) {
  const auto from = mobile<std::uint64_t(std::string_view, std::uint64_t)>("multicast_from");
  EXPECT_EQ(value_of(from.on(fleet_.node(3))("visits", 2).get()), 0U);
  EXPECT_EQ(value_of(words_.load(0, 7)), std::vector<std::uint64_t>(7, 2));
}

TEST_P(NodeMulticast, ANodeWhereItFailsIsNamed) {
  const auto fail_where = mobile<void(std::uint64_t)>("fail_where");
  const NodeHandle bad = fleet_.node(4);
  const Failure failure = failure_of(ops::multicast(fleet_, fail_where, bad.id()).get());
  EXPECT_EQ(failure.ending, Ending::app_error) << to_string(failure);
  EXPECT_EQ(failure.reason, ErrorCode::invalid_argument) << to_string(failure);
  expect_names(failure, "done, but for nodes n4, where it failed");
  expect_refused(failure_of(ops::multicast(std::vector<NodeHandle>{}, visit_, "visits", 1).get()),
                 ErrorCode::invalid_argument, "no nodes");
}

TEST_P(NodeMulticast, NodesOfWhichItIsNotKnownAreNamed) {
  ASSERT_TRUE(ops::multicast(fleet_, visit_, "visits", 1).get());
  const std::vector<NodeHandle> all = fleet_.nodes();
  ASSERT_TRUE(fleet_.kill(all[1]));
  // The list still has it: the first below the root, with another below itself.
  const Failure failure = failure_of(ops::multicast(all, visit_, "visits", 1).get());
  EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
  expect_names(failure, "to 7 nodes: done, but for nodes n1, n2, of which it is not known");
  for (const std::uint64_t node : {0U, 3U, 4U, 5U, 6U}) EXPECT_EQ(visits(node), 2U);
  const std::vector<NodeHandle> lost{all[1], all[2]};
  const Failure root = failure_of(ops::multicast(lost, visit_, "visits", 1).get());
  EXPECT_EQ(root.ending, Ending::node_lost) << to_string(root);
  expect_names(root, "multicast of 'note_visit' to 2 nodes");
}

INSTANTIATE_TEST_SUITE_P(Over, NodeMulticast,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
