// One function at the home of every shard, and godwit's searches as part of other mobile code.
#include "godwit/ops/every_shard.hpp"
#include "node/traversal_for_test.hpp"

namespace godwit::node {
namespace {

class EveryShard : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
  Bundle bundle_ = kernels(GODWIT_TEST_REGIONS_BUNDLE);
};

TEST_P(EveryShard, AFunctionRunsAtEachHomeAndTheOutcomesComeInOrder) {
  auto region = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  ASSERT_TRUE(region.store(0, std::vector<std::uint64_t>{1, 2, 3, 40, 50, 60, 700, 800, 900}));
  const auto sum = bundle_.function<std::uint64_t(std::string_view)>("sum").value();
  const auto sums = ops::at_every_shard(region, sum, "words").get();
  ASSERT_TRUE(sums) << to_string(sums.error());
  ASSERT_EQ(sums->size(), 3U);
  EXPECT_EQ(value_of(sums->at(0)), 6U);
  EXPECT_EQ(value_of(sums->at(1)), 150U);
  EXPECT_EQ(value_of(sums->at(2)), 2400U);
}

TEST_P(EveryShard, AHomeThatDiedFailsAlone) {
  auto region = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  ASSERT_TRUE(region.store(0, std::vector<std::uint64_t>(9, 5)));
  const auto sum = bundle_.function<std::uint64_t(std::string_view)>("sum").value();
  ASSERT_TRUE(fleet_.kill(fleet_.find("n1").value()));
  const auto sums = value_of(ops::at_every_shard(region, sum, "words").get());
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(value_of(sums[0]), 15U);
  EXPECT_EQ(sums[1].ending(), Ending::node_lost);
  EXPECT_EQ(value_of(sums[2]), 15U);
}

TEST_P(EveryShard, MobileCodeMakesTheSearchesPartOfItsOwn) {
  const ListModel model(300);
  auto list =
      make_region<ListNode>(fleet_, "list", {.elements = 300, .sharding = Sharding::cyclic()});
  ASSERT_TRUE(list.store(0, model.nodes));
  const auto find_for =
      bundle_.function<ops::Search(std::uint64_t, ops::Search)>("find_for").value();
  const ops::Search search{.at = model.order[0], .key = 70, .left = 1000};
  const auto found = find_for.on(fleet_.node(1))(list.describe().id, search).get();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->state, ops::Search::kFound);
  EXPECT_EQ(found->at, model.order[7]);
  EXPECT_EQ(found->value, 7U);
}

INSTANTIATE_TEST_SUITE_P(Over, EveryShard,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
