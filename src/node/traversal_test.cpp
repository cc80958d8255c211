// Lists, trees, tables and graphs that lie across nodes, searched where they lie, against plain
// ones in memory.
#include "node/traversal_for_test.hpp"

namespace godwit::node {
namespace {

class Traversal : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(Traversal, AListIsSearchedAcrossNodesAsInMemory) {
  const ListModel model(3000);
  auto list =
      make_region<ListNode>(fleet_, "list", {.elements = 3000, .sharding = Sharding::cyclic(7)});
  ASSERT_TRUE(list.store(0, model.nodes));
  std::mt19937_64 random(1);
  std::vector<ops::ListQuery> queries;
  for (int i = 0; i < 300; ++i) queries.push_back({random() % 3000, random() % 3100 * 10});
  queries.push_back({0, 5});  // nobody's key
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(value_of(ops::find(list, queries[i]).get()),
              model.find(queries[i].first, queries[i].key));
  }
  const auto found = ops::find_many(list, queries);
  ASSERT_EQ(found.size(), queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(value_of(found[i]), model.find(queries[i].first, queries[i].key)) << i;
  }
  expect_refused(ops::find(list, {3000, 1}).get(), "element 3000 of region 'list'");
}

TEST_P(Traversal, AListThatIsNoneSaysSo) {
  auto list = make_region<ListNode>(fleet_, "ring", {.elements = 9});
  ASSERT_TRUE(list.store(0, ListNode{1, 1, 8}));
  ASSERT_TRUE(list.store(8, ListNode{2, 2, 0}));
  expect_refused(ops::find(list, {0, 3}).get(), "circle");
  const std::vector<ops::ListQuery> both{{0, 3}, {0, 2}};
  const auto found = ops::find_many(list, both);
  expect_refused(found[0], "'ring'");
  EXPECT_EQ(value_of(found[1]), (Found{8, 2}));
  ASSERT_TRUE(list.store(8, ListNode{2, 2, 900}));
  expect_refused(ops::find(list, {0, 3}).get(), "900");
  expect_refused(ops::find_many(list, both)[0], "900");
}

TEST_P(Traversal, ATreeFindsWhatItWasBuiltFrom) {
  for (const std::size_t count : {0, 1, 16, 17, 5000}) {
    const auto entries = sorted_entries(count);
    auto tree = make_region<TreeNode>(
        fleet_, "tree", {.elements = ops::tree_nodes(count), .sharding = Sharding::cyclic(3)});
    ASSERT_TRUE(ops::build_tree(tree, entries));
    const std::map<std::uint64_t, std::uint64_t> model = [&] {
      std::map<std::uint64_t, std::uint64_t> map;
      for (const TreeEntry& entry : entries) map[entry.key] = entry.value;
      return map;
    }();
    std::mt19937_64 random(count);
    std::vector<std::uint64_t> keys{0, UINT64_MAX};
    for (std::size_t i = 0; i < 100 && count > 0; ++i) {
      keys.push_back(entries[random() % count].key + i % 2);
    }
    const auto found = ops::find_many(tree, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto expected = model.find(keys[i]);
      const auto one = value_of(ops::find(tree, keys[i]).get());
      EXPECT_EQ(one, value_of(found[i]));
      ASSERT_EQ(one.has_value(), expected != model.end()) << keys[i];
      if (one) {
        EXPECT_EQ(one->value, expected->second);
      }
    }
    ASSERT_TRUE(tree.drop());
  }
}

TEST_P(Traversal, AScanReturnsARangeInPages) {
  const auto entries = sorted_entries(3000);
  auto tree = make_region<TreeNode>(
      fleet_, "scanned", {.elements = ops::tree_nodes(3000), .sharding = Sharding::cyclic(5)});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  std::mt19937_64 random(3);
  for (int round = 0; round < 12; ++round) {
    const std::uint64_t from = random() % 300'000;
    const std::uint64_t to = round == 0 ? UINT64_MAX : from + random() % 100'000;
    const auto limit = static_cast<std::uint32_t>(1 + random() % 300);
    std::vector<TreeEntry> expected;
    for (const TreeEntry& entry : entries) {
      if (entry.key >= from && entry.key <= to) expected.push_back(entry);
    }
    std::vector<TreeEntry> scanned;
    for (ops::ScanCursor cursor{.from = from, .to = to}; !cursor.over;) {
      auto page = ops::scan(tree, cursor, limit).get();
      ASSERT_TRUE(page) << to_string(page.error());
      EXPECT_LE(page->entries.size(), limit);
      scanned.insert(scanned.end(), page->entries.begin(), page->entries.end());
      cursor = page->next;
    }
    EXPECT_EQ(scanned, expected);
  }
  expect_refused(ops::scan(tree, {}, 0).get(), "'scanned'");
}

TEST_P(Traversal, ATreeThatIsNoneSaysSo) {
  auto tree = make_region<TreeNode>(fleet_, "odd", {.elements = 30});
  const std::vector<TreeEntry> descending{{2, 0}, {1, 0}};
  expect_refused(ops::build_tree(tree, descending), "key 2");
  TreeNode node;
  node.count = 99;
  ASSERT_TRUE(tree.store(0, node));
  expect_refused(ops::find(tree, 1).get(), "'odd'");
  expect_refused(ops::scan(tree, {}).get(), "'odd'");
  node.count = 1;
  node.height = 1;
  node.values[0] = 0;  // its own child
  ASSERT_TRUE(tree.store(0, node));
  expect_refused(ops::find(tree, 1).get(), "circle");
  expect_refused(ops::scan(tree, {}).get(), "'odd'");
  node.values[0] = 1000;
  ASSERT_TRUE(tree.store(0, node));
  expect_refused(ops::find(tree, 1).get(), "1000");
  expect_refused(ops::scan(tree, {}).get(), "1000");
}

TEST_P(Traversal, ATableOfManyThreadsKeepsEveryKey) {
  auto table = make_region<ops::HashSlot>(fleet_, "table", {.elements = 2000});
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        std::map<std::uint64_t, std::uint64_t> model;
        std::mt19937_64 random(t);
        for (int i = 0; i < 400; ++i) {
          const std::uint64_t key = random() % 150 * 3 + t;  // no other thread's
          const auto known = model.find(key);
          const auto expected = known == model.end() ? std::nullopt : std::optional(known->second);
          if (random() % 2 == 0) {
            EXPECT_EQ(value_of(ops::hash_get(table, key).get()), expected);
          } else {
            const std::uint64_t value = random();
            EXPECT_EQ(value_of(ops::hash_put(table, key, value).get()), expected);
            model[key] = value;
          }
        }
      });
    }
  }
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(ops::hash_put(table, 7777, t << 32 | i).get());
        const auto seen = value_of(ops::hash_get(table, 7777).get());
        ASSERT_TRUE(seen.has_value());
        EXPECT_LT(*seen >> 32, 3U);
      }
    });
  }
}

TEST_P(Traversal, AFullTableSaysSoAndLosesNothing) {
  auto table = make_region<ops::HashSlot>(fleet_, "full", {.elements = 9});
  std::map<std::uint64_t, std::uint64_t> model;
  std::size_t refused = 0;
  for (std::uint64_t key = 0; key < 40; ++key) {
    const auto put = ops::hash_put(table, key, key + 1).get();
    if (put) {
      EXPECT_EQ(*put, std::nullopt);
      model[key] = key + 1;
      continue;
    }
    EXPECT_EQ(put.error().reason, ErrorCode::resource_exhausted) << to_string(put.error());
    EXPECT_NE(put.error().message.find("region 'full'"), std::string::npos);
    ++refused;
  }
  EXPECT_EQ(model.size(), 9U);
  EXPECT_EQ(refused, 31U);
  for (std::uint64_t key = 0; key < 40; ++key) {
    const auto found = value_of(ops::hash_get(table, key).get());
    EXPECT_EQ(found.has_value(), model.contains(key));
  }
}

TEST_P(Traversal, NeighbourhoodsAreThoseOfTheReference) {
  for (const std::uint64_t vertices : {1, 2, 7, 1000}) {
    const Rows rows(vertices, 3);
    auto graph = ops::Graph::create(fleet_, "graph", rows.offsets, rows.targets);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->vertices(), vertices);
    const ops::Graph attached = ops::Graph::attach(fleet_, "graph").value();
    EXPECT_EQ(attached.vertices(), vertices);
    std::mt19937_64 random(vertices);
    for (std::uint32_t hops = 0; hops < 6; ++hops) {
      const std::uint64_t from = random() % vertices;
      EXPECT_EQ(value_of(attached.k_hop(from, {.hops = hops}).get()), rows.k_hop(from, hops));
    }
    expect_refused(graph->k_hop(vertices, {}).get(), "'graph.offsets'");
    ASSERT_TRUE(graph->drop());
  }
  const Rows rows(1000, 3);
  auto graph = ops::Graph::create(fleet_, "graph", rows.offsets, rows.targets).value();
  EXPECT_EQ(failure_of(graph.k_hop(5, {.hops = 9, .at_most = 50}).get()).reason,
            ErrorCode::too_large);
  const std::vector<std::uint64_t> wrong{9};
  const std::vector<std::uint64_t> one_row{0, 1};
  EXPECT_EQ(ops::Graph::create(fleet_, "wrong", one_row, wrong).error().code,
            ErrorCode::invalid_argument);
}

TEST_P(Traversal, ManyChasesEndAsOneByOne) {
  constexpr std::uint64_t kElements = 3000;
  auto list = make_region<std::uint64_t>(fleet_, "chased",
                                         {.elements = kElements, .sharding = Sharding::hashed()});
  std::vector<std::uint64_t> next(kElements);
  for (std::uint64_t i = 0; i < kElements; ++i) next[i] = (i * 7 + 11) % kElements;
  next[17] = 5000;  // leads out
  ASSERT_TRUE(list.store(0, next));
  std::mt19937_64 random(9);
  std::vector<ops::Chase> chases{{0, 0}, {kElements, 1}};
  for (int i = 0; i < 1500; ++i) chases.push_back({random() % kElements, random() % 100});
  for (const auto mechanism : {ops::Mechanism::automatic, ops::Mechanism::code}) {
    const auto ends = ops::chase_many(list, chases, mechanism);
    ASSERT_EQ(ends.size(), chases.size());
    for (std::size_t i = 0; i < chases.size(); ++i) {
      std::uint64_t at = chases[i].at;
      std::uint64_t left = chases[i].steps;
      for (; left > 0 && at < kElements; --left) at = next[at];
      if (left == 0 && chases[i].at < kElements) {
        EXPECT_EQ(value_of(ends[i]), at);
      } else {
        expect_refused(ends[i], "region 'chased'");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Traversal, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         name_of);

}  // namespace
}  // namespace godwit::node
