// Searches that go on while a node dies: each is right, or says what was lost.
#include "node/traversal_for_test.hpp"

namespace godwit::node {
namespace {

class TraversalFaults : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

// What a search may come to while a shard is being lost: the truth, or that it is.
template <class R>
void expect_true_or_lost(const Outcome<R>& outcome, const R& truth, std::size_t& lost) {
  if (outcome) {
    EXPECT_EQ(*outcome, truth);
    return;
  }
  EXPECT_EQ(outcome.error().ending, Ending::node_lost) << to_string(outcome.error());
  EXPECT_NE(outcome.error().message.find("region '"), std::string::npos);
  ++lost;
}

TEST_P(TraversalFaults, ConcurrentSearchesAreRightOrLostWhileANodeIsKilled) {
  const ListModel model(600);
  auto list = make<ListNode>(fleet_, "list", {.elements = 600, .sharding = Sharding::cyclic()});
  ASSERT_TRUE(list.store(0, model.nodes));
  const auto entries = sorted_entries(2000);
  auto tree = make<TreeNode>(fleet_, "tree", {.elements = ops::tree_nodes(2000)});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  auto table = make<ops::HashSlot>(fleet_, "table", {.elements = 2000});
  for (std::uint64_t key = 0; key < 100; ++key)
    ASSERT_TRUE(ops::hash_put(table, key, key * 3).get());
  const Rows rows(300, 3);
  const ops::Graph graph = ops::Graph::create(fleet_, "graph", rows.offsets, rows.targets).value();

  std::atomic<bool> killed{false};
  std::vector<std::jthread> threads;
  std::atomic<std::size_t> all_lost{0};
  for (std::uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::size_t lost = 0;
      const auto act = [&] {
        const std::uint64_t first = random() % 600;
        const std::uint64_t key = random() % 600 * 10;
        expect_true_or_lost(ops::find(list, {first, key}).get(), model.find(first, key), lost);
        std::vector<ops::ListQuery> queries;
        for (int i = 0; i < 20; ++i) queries.push_back({random() % 600, random() % 600 * 10});
        const auto found = ops::find_many(list, queries);
        for (std::size_t i = 0; i < queries.size(); ++i) {
          expect_true_or_lost(found[i], model.find(queries[i].first, queries[i].key), lost);
        }
        const TreeEntry& entry = entries[random() % entries.size()];
        const auto in_tree = ops::find(tree, entry.key).get();
        std::optional<Found> truth = in_tree ? *in_tree : std::nullopt;
        if (in_tree) {
          ASSERT_TRUE(truth.has_value());
          EXPECT_EQ(truth->value, entry.value);
        }
        expect_true_or_lost(in_tree, truth, lost);
        const std::uint64_t slot = random() % 100;
        expect_true_or_lost(ops::hash_get(table, slot).get(), std::optional(slot * 3), lost);
        const std::uint64_t from = random() % 300;
        expect_true_or_lost(graph.k_hop(from, {.hops = 2}).get(), rows.k_hop(from, 2), lost);
      };
      for (int i = 0; i < 10 || !killed; ++i) act();
      for (int i = 0; i < 10; ++i) act();
      all_lost += lost;
    });
  }
  ASSERT_TRUE(fleet_.kill(fleet_.find("n2").value()));
  killed = true;
  threads.clear();
  EXPECT_GT(all_lost.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Over, TraversalFaults,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         [](const auto& transport) {
                           return transport.param == LocalTransport::shm ? "Shm" : "Tcp";
                         });

}  // namespace
}  // namespace godwit::node
