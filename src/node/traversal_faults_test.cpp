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
  auto list =
      make_region<ListNode>(fleet_, "list", {.elements = 600, .sharding = Sharding::cyclic()});
  ASSERT_TRUE(list.store(0, model.nodes));
  const auto entries = sorted_entries(2000);
  auto tree = make_region<TreeNode>(fleet_, "tree", {.elements = ops::tree_nodes(2000)});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  auto table = make_region<ops::HashSlot>(fleet_, "table", {.elements = 2000});
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

// Each chase stays among the elements of one shard, or leads through all of them.
TEST_P(TraversalFaults, ManyChasesFailAloneWhileANodeIsKilled) {
  constexpr std::uint64_t kElements = 300;
  auto list = make_region<std::uint64_t>(fleet_, "chased", {.elements = kElements});
  std::vector<std::uint64_t> next(kElements);
  for (std::uint64_t i = 0; i < kElements; ++i) next[i] = i / 100 * 100 + (i + 1) % 100;
  next[50] = 150;
  next[150] = 250;
  next[250] = 50;
  ASSERT_TRUE(list.store(0, next));
  std::vector<ops::Chase> chases;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const std::uint64_t around = i % kElements / 100 * 100;
    const bool through_all = i % 7 == 0;
    chases.push_back({through_all ? 50U : around + 51, through_all ? 3000U : 99U});
  }
  std::atomic<bool> killed{false};
  std::jthread killer([&] {
    EXPECT_TRUE(fleet_.kill(fleet_.find("n2").value()));
    killed = true;
  });
  std::size_t lost = 0;
  for (int after = 0; after < 2; after += killed ? 1 : 0) {
    const auto ends = ops::chase_many(list, chases, ops::Mechanism::code);
    for (std::size_t i = 0; i < chases.size(); ++i) {
      std::uint64_t at = chases[i].at;
      for (std::uint64_t step = 0; step < chases[i].steps; ++step) at = next[at];
      const bool touches_victim = chases[i].at == 50 || chases[i].at >= 200;
      if (!touches_victim) {
        EXPECT_TRUE(ends[i]) << to_string(ends[i].error());
      }
      expect_true_or_lost(ends[i], at, lost);
    }
  }
  EXPECT_GT(lost, 0U);
}

TEST_P(TraversalFaults, APutIntoATableHappenedOrMayHaveWhileANodeIsKilled) {
  auto table = make_region<ops::HashSlot>(fleet_, "table", {.elements = 2000});
  std::atomic<bool> killed{false};
  std::jthread killer([&] {
    EXPECT_TRUE(fleet_.kill(fleet_.find("n1").value()));
    killed = true;
  });
  std::map<std::uint64_t, std::uint64_t> model;
  std::size_t lost = 0;
  std::mt19937_64 random(4);
  for (int after = 0; after < 200; after += killed ? 1 : 0) {
    const std::uint64_t key = random() % 200;
    const std::uint64_t value = random();
    const auto known = model.find(key);
    const auto before = known == model.end() ? std::nullopt : std::optional(known->second);
    const auto put = ops::hash_put(table, key, value).get();
    expect_true_or_lost(put, before, lost);
    if (put) model[key] = value;
  }
  EXPECT_GT(lost, 0U);
  for (const auto& [key, value] : model) {
    expect_true_or_lost(ops::hash_get(table, key).get(), std::optional(value), lost);
  }
}

TEST_P(TraversalFaults, AScanThatComesToALostShardSaysWhereAndKeepsWhatItHas) {
  const auto entries = sorted_entries(3000);
  auto tree = make_region<TreeNode>(fleet_, "tree", {.elements = ops::tree_nodes(3000)});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  ASSERT_TRUE(fleet_.kill(fleet_.find("n2").value()));
  std::vector<TreeEntry> scanned;
  ops::ScanCursor cursor;
  auto page = ops::scan(tree, cursor).get();
  for (; page && !page->next.over; page = ops::scan(tree, cursor).get()) {
    scanned.insert(scanned.end(), page->entries.begin(), page->entries.end());
    cursor = page->next;
  }
  const Failure failure = failure_of(page);
  EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
  EXPECT_NE(failure.message.find("region 'tree'"), std::string::npos) << failure.message;
  ASSERT_GT(scanned.size(), 0U);
  ASSERT_LT(scanned.size(), entries.size());
  EXPECT_TRUE(std::equal(scanned.begin(), scanned.end(), entries.begin()));
}

INSTANTIATE_TEST_SUITE_P(Over, TraversalFaults,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

}  // namespace
}  // namespace godwit::node
