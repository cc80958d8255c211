// Every mechanism of every operation comes to the same answer, and none of them to one of a dead
// node.
#include <gmock/gmock.h>

#include "godwit/explain.hpp"
#include "node/data_ops_for_test.hpp"
#include "node/traversal_for_test.hpp"

namespace godwit::node {
namespace {

using ops::Mechanism;
using testing::HasSubstr;
using Words = Region<std::uint64_t>;
using Values = std::vector<std::uint64_t>;

constexpr std::array kHere{Mechanism::automatic, Mechanism::get, Mechanism::code};

const Sharding kShardings[] = {Sharding::blocks(), Sharding::cyclic(3), Sharding::hashed()};

class Mechanisms : public testing::TestWithParam<LocalTransport> {
 protected:
  // ask(mechanism) comes to `expected` however it is done, and says so where it cannot be.
  template <class Ask, class R>
  static void expect_everywhere(const Ask& ask, const R& expected) {
    for (const Mechanism mechanism : kHere) {
      EXPECT_EQ(value_of(ask(mechanism).get()), expected) << to_string(mechanism);
    }
    const auto direct = ask(Mechanism::direct).get();
    if (GetParam() == LocalTransport::shm) {
      EXPECT_EQ(value_of(direct), expected) << "direct";
    } else {
      EXPECT_EQ(failure_of(direct).reason, ErrorCode::unsupported);
      EXPECT_THAT(failure_of(direct).message, HasSubstr("not mapped in this process"));
    }
  }
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(Mechanisms, FindTheSameInAList) {
  const ListModel model(300);
  auto list =
      make_region<ListNode>(fleet_, "list", {.elements = 300, .sharding = Sharding::hashed()});
  ASSERT_TRUE(list.store(0, model.nodes));
  for (const std::uint64_t key : {0U, 10U, 1000U, 2990U, 2991U}) {
    expect_everywhere([&](Mechanism by) { return ops::find(list, {model.order[0], key}, by); },
                      model.find(model.order[0], key));
  }
  ASSERT_TRUE(list.store(model.order[5], {77, 0, model.order[2]}));
  for (const Mechanism by : kHere) {
    EXPECT_THAT(failure_of(ops::find(list, {model.order[0], 5}, by).get()).message,
                HasSubstr("round in a circle"));
  }
  ASSERT_TRUE(list.store(model.order[5], {77, 0, 5'000}));
  for (const Mechanism by : kHere) {
    EXPECT_THAT(failure_of(ops::find(list, {model.order[0], 5}, by).get()).message,
                HasSubstr("5000"));
  }
}

TEST_P(Mechanisms, FindTheSameInATree) {
  const auto entries = sorted_entries(700);
  auto tree = make_region<TreeNode>(
      fleet_, "tree", {.elements = ops::tree_nodes(700), .sharding = Sharding::cyclic()});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t key = i % 2 == 0 ? entries[random() % 700].key : random() % 70'000;
    const auto there = std::ranges::lower_bound(entries, key, {}, &TreeEntry::key);
    const bool found = there != entries.end() && there->key == key;
    expect_everywhere(
        [&](Mechanism by) {
          return ops::find(tree, key, by).then([](auto outcome) {
            if (!outcome) return Outcome<std::uint64_t>(tl::unexpected(outcome.error()));
            return Outcome<std::uint64_t>(*outcome ? (*outcome)->value : 0);
          });
        },
        found ? there->value : 0);
  }
}

TEST_P(Mechanisms, FindTheSameInATable) {
  for (const Sharding sharding : kShardings) {
    auto table =
        make_region<ops::HashSlot>(fleet_, "table", {.elements = 128, .sharding = sharding});
    for (std::uint64_t key = 0; key < 90; ++key) {
      ASSERT_TRUE(ops::hash_put(table, key * key, key).get());
    }
    using Value = std::optional<std::uint64_t>;
    for (std::uint64_t key = 0; key < 90; ++key) {
      expect_everywhere([&](Mechanism by) { return ops::hash_get(table, key * key, by); },
                        Value(key));
    }
    expect_everywhere([&](Mechanism by) { return ops::hash_get(table, 2, by); }, Value());
    ASSERT_TRUE(table.drop());
  }
}

TEST_P(Mechanisms, SeeEntriesOfATableWholeWhileTheyChange) {
  auto table = make_region<ops::HashSlot>(fleet_, "table", {.elements = 64});
  // Of key k the values are k, 1000 + k, 2000 + k...
  for (std::uint64_t key = 1; key <= 20; ++key) ASSERT_TRUE(ops::hash_put(table, key, key).get());
  std::atomic<bool> over = false;
  std::jthread writer([&] {
    for (std::uint64_t turn = 1; !over; ++turn) {
      for (std::uint64_t key = 1; key <= 20 && !over; ++key) {
        ASSERT_TRUE(ops::hash_put(table, key, turn * 1000 + key).get());
      }
    }
  });
  const bool mapped = GetParam() == LocalTransport::shm;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t key = i % 20 + 1;
    for (const Mechanism by : {Mechanism::get, Mechanism::code, Mechanism::direct}) {
      if (by == Mechanism::direct && !mapped) continue;
      const auto value = ops::hash_get(table, key, by).get();
      if (!value && value.error().reason == ErrorCode::overload) continue;
      EXPECT_EQ(value_of(value).value_or(0) % 1000, key) << to_string(by);
    }
  }
  over = true;
}

TEST_P(Mechanisms, ReachTheSameVertices) {
  const Rows rows(200, 3);
  auto graph = ops::Graph::create(fleet_, "graph", rows.offsets, rows.targets);
  ASSERT_TRUE(graph) << graph.error().message;
  for (const std::uint64_t from : {0U, 67U, 199U}) {
    for (const std::uint32_t hops : {0U, 1U, 2U, 5U}) {
      expect_everywhere([&](Mechanism by) { return graph->k_hop(from, {.hops = hops}, by); },
                        rows.k_hop(from, hops));
    }
  }
  for (const Mechanism by : kHere) {
    const Failure failure = failure_of(graph->k_hop(0, {.hops = 6, .at_most = 5}, by).get());
    EXPECT_EQ(failure.reason, ErrorCode::too_large) << to_string(failure);
    EXPECT_THAT(failure.message, HasSubstr("more than 5 vertices"));
  }
}

template <class T>
void expect_same_reductions(const Region<T>& region, bool mapped) {
  std::vector<Mechanism> others{Mechanism::automatic, Mechanism::get};
  if (mapped) others.push_back(Mechanism::direct);
  const auto all = value_of(ops::aggregate(region, {.at_least = 20}, Mechanism::code).get());
  const auto best = value_of(ops::top(region, 7, Mechanism::code).get());
  const ops::Buckets<T> buckets{.low = 10, .high = 90, .count = 8};
  const auto bars = value_of(ops::histogram(region, buckets, Mechanism::code).get());
  EXPECT_GT(all.count, 0U);
  for (const Mechanism by : others) {
    EXPECT_EQ(value_of(ops::aggregate(region, {.at_least = 20}, by).get()), all) << to_string(by);
    EXPECT_EQ(value_of(ops::top(region, 7, by).get()), best) << to_string(by);
    EXPECT_EQ(value_of(ops::histogram(region, buckets, by).get()), bars) << to_string(by);
    EXPECT_EQ(value_of(ops::min(region, {.at_least = 20}, by).get()), all.min);
    EXPECT_EQ(value_of(ops::count(region, {.at_least = 20}, by).get()), all.count);
  }
}

TEST_P(Mechanisms, ReduceToTheSame) {
  const bool mapped = GetParam() == LocalTransport::shm;
  std::mt19937_64 random(7);
  for (const Sharding sharding : kShardings) {
    auto heights = make_region<double>(fleet_, "heights",
                                       {.elements = 500, .capacity = 640, .sharding = sharding});
    auto bytes =
        make_region<std::int8_t>(fleet_, "bytes", {.elements = 100'000, .sharding = sharding});
    std::vector<double> some(500);
    for (double& value : some) value = static_cast<double>(random() % 10'000) / 97;
    some[17] = std::numeric_limits<double>::quiet_NaN();
    ASSERT_TRUE(heights.store(0, some));
    std::vector<std::int8_t> many(100'000);
    for (std::int8_t& value : many) value = static_cast<std::int8_t>(random());
    ASSERT_TRUE(bytes.store(0, many));
    expect_same_reductions(heights, mapped);
    expect_same_reductions(bytes, mapped);
    EXPECT_EQ(value_of(ops::sum(heights, {}, Mechanism::get).get()),
              value_of(ops::sum(heights, {}, Mechanism::code).get()))
        << "to the last bit";
    for (const Mechanism by : kHere) {
      EXPECT_EQ(failure_of(ops::top(bytes, 0, by).get()).reason, ErrorCode::invalid_argument);
      EXPECT_EQ(
          failure_of(ops::histogram(bytes, {.low = 5, .high = 5, .count = 1}, by).get()).reason,
          ErrorCode::invalid_argument);
    }
    ASSERT_TRUE(heights.drop());
    ASSERT_TRUE(bytes.drop());
  }
}

TEST_P(Mechanisms, AreChosenAndExplainedForEveryOperation) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 3'000});
  const bool mapped = GetParam() == LocalTransport::shm;
  for (const auto operation : {ops::Operation::get, ops::Operation::gather}) {
    EXPECT_EQ(ops::explain(words, {.operation = operation, .amount = 100}).chosen,
              mapped ? Mechanism::direct : Mechanism::get);
  }
  EXPECT_EQ(ops::explain(words, {.operation = ops::Operation::hash_get}).chosen,
            mapped ? Mechanism::direct : Mechanism::code);
  const ops::Decision decision = ops::explain(words, {.operation = ops::Operation::reduce});
  EXPECT_EQ(decision.steps, 3'000U);
  for (const ops::ShardCost& shard : decision.shards) {
    EXPECT_TRUE(shard.work_ns && shard.get_ns) << shard.shard;
  }
  EXPECT_GT(decision.scan_byte_ns, 0);
  const double here_ns = decision.candidates[mapped ? 0 : 1].expected_ns;
  const double code_ns = decision.candidates[2].expected_ns;
  EXPECT_EQ(decision.chosen == Mechanism::code, here_ns >= code_ns);
  EXPECT_THAT(to_text(decision), HasSubstr("3000 elements to reduce: "));
  const auto forced =
      ops::explain(words, {.operation = ops::Operation::k_hop, .amount = 9}, Mechanism::get);
  EXPECT_EQ(forced.chosen, Mechanism::get);
  EXPECT_EQ(forced.why, "it was asked for");
}

INSTANTIATE_TEST_SUITE_P(Over, Mechanisms,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), name_of);

// The memory of a node that was killed is still mapped here, and still holds the answers.
TEST(MechanismFaults, NoLoadFromADeadNodesMappingBecomesAnAnswer) {
  Fleet fleet = local(2);
  const NodeHandle victim = fleet.find("n1").value();
  const std::vector<NodeHandle> nodes{fleet.find("n0").value(), victim};
  const RegionOptions options{.elements = 60, .nodes = nodes};
  auto list = make_region<ListNode>(fleet, "list", options);
  const ListModel model(60);
  ASSERT_TRUE(list.store(0, model.nodes));
  auto tree =
      make_region<TreeNode>(fleet, "tree", {.elements = ops::tree_nodes(700), .nodes = nodes});
  const auto entries = sorted_entries(700);
  ASSERT_TRUE(ops::build_tree(tree, entries));
  auto table = make_region<ops::HashSlot>(fleet, "table", options);
  for (std::uint64_t key = 0; key < 30; ++key) ASSERT_TRUE(ops::hash_put(table, key, key).get());
  auto words = make_region<std::uint64_t>(fleet, "words", options);
  const Rows rows(40, 4);
  const auto graph = ops::Graph::create(fleet, "graph", rows.offsets, rows.targets).value();
  ASSERT_TRUE(words.describe().shards.at(1).mapped);
  ASSERT_TRUE(fleet.kill(victim));

  for (const Mechanism by : {Mechanism::direct, Mechanism::automatic, Mechanism::get}) {
    const auto lost = [&](const auto& outcome) {
      ASSERT_FALSE(outcome) << to_string(by);
      EXPECT_EQ(outcome.error().ending, Ending::node_lost) << to_string(outcome.error());
      EXPECT_THAT(outcome.error().message, HasSubstr("region '"));
    };
    lost(ops::find(list, {model.order[0], 12'345}, by).get());
    lost(ops::find(tree, entries.back().key, by).get());
    std::size_t answered = 0;
    for (std::uint64_t key = 0; key < 30; ++key) {
      const auto value = ops::hash_get(table, key, by).get();
      if (!value) {
        lost(value);
      } else {
        EXPECT_EQ(*value, key);
        ++answered;
      }
    }
    EXPECT_GT(answered, 0U);
    EXPECT_LT(answered, 30U);
    lost(graph.k_hop(0, {.hops = 4}, by).get());
    lost(ops::sum(words, {}, by).get());
    lost(ops::top(words, 3, by).get());
    lost(ops::histogram(words, {.low = 0, .high = 9, .count = 3}, by).get());
  }
}

}  // namespace
}  // namespace godwit::node
