// Operations and functions of other bundles, called by mobile code: as good as a program's calls.
#include <algorithm>
#include <numeric>
#include <random>

#include "godwit/ops/hash_table.hpp"
#include "godwit/ops/tree.hpp"
#include "node/mobile_ops_for_test.hpp"

namespace godwit::node {
namespace {

using Words = std::span<const std::uint64_t>;
using List = std::vector<std::uint64_t>;
using Maybe = std::optional<std::uint64_t>;
constexpr auto kBad = ErrorCode::invalid_argument;

class MobileOps : public testing::TestWithParam<LocalTransport> {
 protected:
  NodeHandle node(std::size_t index) { return fleet_.node(index % 3); }

  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(MobileOps, OneFunctionAppendsPutsAndGathersElsewhere) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  auto log = ops::Log<std::uint64_t>::create(fleet_, "log", {.records_per_shard = 10});
  ASSERT_TRUE(log) << log.error().message;
  const auto tour =
      mobile<std::uint64_t(std::string_view, std::uint32_t, std::string_view, Words)>("tour");
  ASSERT_TRUE(words.put(1, 100).get());
  const List indices{8, 1, 4};
  const auto sum = tour.on(node(0))("log", 1, "words", indices).get();
  EXPECT_EQ(value_of(sum), log->first(1) + 1 + 100);
  EXPECT_EQ(value_of(log->size(1)), 1U);
  EXPECT_EQ(value_of(log->records().load(log->first(1))), 7U);
  EXPECT_EQ(value_of(words.load(8)), log->first(1) + 1);
}

TEST_P(MobileOps, WhateverTheNodeItDoesWhatAPlainVectorDoes) {
  constexpr std::uint64_t kElements = 60;
  for (const Sharding& sharding : {Sharding::blocks(), Sharding::cyclic(4), Sharding::hashed()}) {
    auto region =
        make_region<std::uint64_t>(fleet_, "model", {.elements = kElements, .sharding = sharding});
    List model(kElements);
    std::mt19937_64 random(3);
    for (std::size_t step = 0; step < 60; ++step) {
      const NodeHandle at = node(random());
      const std::uint64_t index = random() % kElements;
      List indices(random() % 8);
      for (std::uint64_t& one : indices) one = random() % kElements;
      switch (random() % 4) {
        case 0: {
          const auto before = value_of(
              mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t, std::uint64_t)>(
                  "put_if")
                  .on(at)("model", index, step % 2 == 0 ? model[index] : 1'000'000, step)
                  .get());
          EXPECT_EQ(before, model[index]);
          if (step % 2 == 0) model[index] = step;
          break;
        }
        case 1: {
          const auto before = value_of(
              mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint32_t, std::uint64_t)>(
                  "accumulate")
                  .on(at)("model", index, static_cast<std::uint32_t>(ops::Join::max), step)
                  .get());
          EXPECT_EQ(before, model[index]);
          model[index] = std::max<std::uint64_t>(model[index], step);
          break;
        }
        case 2: {
          List values(indices.size());
          std::iota(values.begin(), values.end(), step);
          ASSERT_TRUE(mobile<void(std::string_view, Words, Words)>("scatter_add")
                          .on(at)("model", indices, values)
                          .get());
          for (std::size_t i = 0; i < indices.size(); ++i) model[indices[i]] += values[i];
          break;
        }
        default: {
          const auto found = value_of(
              mobile<List(std::string_view, Words)>("gather").on(at)("model", indices).get());
          ASSERT_EQ(found.size(), indices.size());
          for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(found[i], model[indices[i]]);
        }
      }
    }
    EXPECT_EQ(value_of(region.load(0, kElements)), model);
    ASSERT_TRUE(region.drop());
  }
}

TEST_P(MobileOps, LongListsAndMulticastsReachEveryShard) {
  constexpr std::uint64_t kElements = 3'000;
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = kElements});
  List all(kElements);
  std::iota(all.begin(), all.end(), 0U);
  ASSERT_TRUE(mobile<void(std::string_view, Words, Words)>("scatter_add")
                  .on(node(1))("words", all, all)
                  .get());
  EXPECT_EQ(
      value_of(mobile<List(std::string_view, Words)>("gather").on(node(2))("words", all).get()),
      all);
  const List values{5, 6};
  const auto multicast = mobile<void(std::string_view, std::uint64_t, Words)>("multicast");
  ASSERT_TRUE(multicast.on(node(2))("words", 10, values).get());
  for (const std::uint64_t first : {0U, 1000U, 2000U}) {
    EXPECT_EQ(value_of(words.load(first + 10, 2)), values);
  }
  expect_passed_on(failure_of(multicast.on(node(0))("words", 999, values).get()), kBad,
                   "multicast of element 999 of region 'words'");
}

TEST_P(MobileOps, ConcurrentUpdatesOfAllNodesLoseNothing) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 6});
  auto log = ops::Log<std::uint64_t>::create(fleet_, "log", {.records_per_shard = 1000});
  ASSERT_TRUE(log) << log.error().message;
  const auto add =
      mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint32_t, std::uint64_t)>(
          "accumulate");
  const auto swap = mobile<List(std::string_view, Words, Words, Words)>("swap_all");
  const auto append = mobile<std::uint64_t(std::string_view, std::uint32_t, Words)>("append");
  std::atomic<std::uint64_t> swapped = 0;
  in_threads(3, [&](int thread) {
    const NodeHandle at = node(static_cast<std::size_t>(thread));
    for (std::uint64_t i = 0; i < 60; ++i) {
      ASSERT_TRUE(add.on(at)("words", 2 + i % 2, 0, 3).get());
      const List pair{4, 5};
      const List seen = value_of(words.gather(pair).get());
      const List more{seen[0] + 1, seen[1] + 2};
      if (value_of(swap.on(at)("words", pair, seen, more).get()) == seen) ++swapped;
      ASSERT_TRUE(append.on(at)("log", static_cast<std::uint32_t>(i % 3), pair).get());
    }
  });
  EXPECT_EQ(value_of(words.load(2)) + value_of(words.load(3)), 3U * 60 * 3);
  EXPECT_GT(swapped, 0U);
  EXPECT_EQ(value_of(words.load(4)), swapped);
  EXPECT_EQ(value_of(words.load(5)), 2 * swapped);
  for (const std::uint32_t shard : {0U, 1U, 2U}) EXPECT_EQ(value_of(log->size(shard)), 120U);
}

TEST_P(MobileOps, TablesAndTreesAreSearchedFromAnywhere) {
  make_region<ops::HashSlot>(fleet_, "table", {.elements = 300});
  const auto put = mobile<Maybe(std::string_view, std::uint64_t, std::uint64_t)>("table_put");
  const auto get = mobile<Maybe(std::string_view, std::uint64_t)>("table_get");
  for (std::uint64_t key = 0; key < 50; ++key) {
    EXPECT_EQ(value_of(put.on(node(key))("table", key, key * 2).get()), Maybe());
    EXPECT_EQ(value_of(put.on(node(key + 1))("table", key, key * 3).get()), key * 2);
    EXPECT_EQ(value_of(get.on(node(key + 2))("table", key).get()), key * 3);
  }
  EXPECT_EQ(value_of(get.on(node(0))("table", 77).get()), Maybe());
  std::vector<ops::TreeEntry> entries;
  for (std::uint64_t key = 0; key < 500; ++key) entries.push_back({key * 3, key});
  auto tree =
      make_region<ops::TreeNode>(fleet_, "tree", {.elements = ops::tree_nodes(entries.size())});
  ASSERT_TRUE(ops::build_tree(tree, entries));
  const auto find = mobile<Maybe(std::string_view, std::uint64_t)>("tree_get");
  for (const std::uint64_t key : {0U, 3U, 744U, 1497U}) {
    EXPECT_EQ(value_of(find.on(node(key))("tree", key).get()), key / 3);
    EXPECT_EQ(value_of(find.on(node(key))("tree", key + 1).get()), Maybe());
  }
}

TEST_P(MobileOps, AnInlineFunctionStartsOperationsWithoutWaiting) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  const auto raise = mobile<void(std::string_view, std::uint64_t, std::uint64_t)>("raise");
  ASSERT_TRUE(raise.on(node(0))("words", 8, 41).get());
  EXPECT_TRUE(eventually([&] { return value_of(words.load(8)) == 41; }));
}

TEST_P(MobileOps, BadInputIsRefusedAndNamed) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  make_region<double>(fleet_, "reals", {.elements = 9});
  const auto gather = mobile<List(std::string_view, Words)>("gather");
  const auto put =
      mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint64_t, std::uint64_t)>(
          "put_if");
  const auto swap = mobile<List(std::string_view, Words, Words, Words)>("swap_all");
  expect_passed_on(failure_of(gather.on(node(0))("words", List{1, 9}).get()), kBad,
                   "gather of element 9 of region 'words'");
  expect_passed_on(failure_of(put.on(node(0))("words", 10, 0, 1).get()), kBad,
                   "put_if of element 10 of region 'words'");
  expect_passed_on(failure_of(swap.on(node(0))("words", List{1, 8}, List{0, 0}, List{1, 1}).get()),
                   kBad, "compare_swap_all of element 8 of region 'words'");
  expect_passed_on(failure_of(gather.on(node(0))("reals", List{1}).get()), ErrorCode::type_mismatch,
                   "'reals'");
  expect_passed_on(failure_of(gather.on(node(0))("nothing", List{1}).get()), ErrorCode::not_found,
                   "'nothing'");
  ASSERT_TRUE(words.seal());
  EXPECT_TRUE(eventually([&] {
    const auto outcome = put.on(node(0))("words", 8, 0, 1).get();
    return !outcome && outcome.error().reason == ErrorCode::permission;
  }));
}

TEST_P(MobileOps, AKilledNodeIsNamedByTheElementsItHad) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 9});
  const auto add =
      mobile<std::uint64_t(std::string_view, std::uint64_t, std::uint32_t, std::uint64_t)>(
          "accumulate");
  const auto gather = mobile<List(std::string_view, Words)>("gather");
  std::uint64_t known = 0;
  std::uint64_t tried = 0;
  for (int i = 0; i < 400; ++i) {
    if (i == 100) {
      ASSERT_TRUE(fleet_.kill(fleet_.find("n1").value()));
    }
    ASSERT_TRUE(add.on(fleet_.find("n0").value())("words", 8, 0, 1).get());
    const auto lost = add.on(fleet_.find("n0").value())("words", 4, 0, 1).get();
    ++tried;
    if (lost) {
      ++known;
      continue;
    }
    expect_passed_on(lost.error(), ErrorCode::node_lost, "accumulate of element 4 of region");
    break;
  }
  EXPECT_GE(known, 100U);
  EXPECT_EQ(tried, known + 1) << "it never failed";
  EXPECT_EQ(value_of(words.load(8)), tried);
  expect_passed_on(failure_of(gather.on(fleet_.find("n2").value())("words", List{0, 4, 8}).get()),
                   ErrorCode::node_lost, "of element 4 of region 'words'");
}

// --- Functions of other bundles -----------------------------------------------------------------

TEST_P(MobileOps, AFunctionOfAnotherBundleIsFetchedFromTheProgramThatOfferedIt) {
  const Bundle other = kernels();
  const auto id = fleet_.offer(other);
  const auto add_by = mobile<std::uint64_t(std::array<std::uint8_t, 32>, std::uint64_t,
                                           std::uint64_t, std::uint64_t)>("add_by");
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(value_of(add_by.on(node(i))(id, node(i / 3).id(), i, 5).get()), i + 5);
  }
  const auto find_inline = mobile<std::uint32_t(std::array<std::uint8_t, 32>)>("find_inline");
  EXPECT_EQ(value_of(find_inline.on(node(0))(id).get()), 0U) << "it is known there by now";
}

TEST_P(MobileOps, ABundleThatNobodyHasOrThatIsSomethingElseIsRefused) {
  using Id = std::array<std::uint8_t, 32>;
  const auto add_by =
      mobile<std::uint64_t(Id, std::uint64_t, std::uint64_t, std::uint64_t)>("add_by");
  const Bundle never_offered = rename_bundle(kernels(), "stranger");
  Id unknown{};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(never_offered.code().id().digest.data()), 32,
              unknown.begin());
  expect_passed_on(failure_of(add_by.on(node(0))(unknown, node(1).id(), 1, 2).get()),
                   ErrorCode::unknown_code, "does not have bundle");
  const auto find_inline = mobile<std::uint32_t(Id)>("find_inline");
  EXPECT_EQ(value_of(find_inline.on(node(0))(unknown).get()),
            static_cast<std::uint32_t>(ErrorCode::would_block));
  const Bundle other = kernels();
  const Id id = fleet_.offer(other);
  expect_passed_on(failure_of(mobile<double(Id)>("add_wrongly").on(node(0))(id).get()),
                   ErrorCode::type_mismatch, "(u64, u64) -> u64");
  expect_passed_on(failure_of(mobile<void(Id)>("find_nothing").on(node(0))(id).get()),
                   ErrorCode::unknown_function, "no_such_function");
}

INSTANTIATE_TEST_SUITE_P(Over, MobileOps, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         name_of);

}  // namespace
}  // namespace godwit::node
