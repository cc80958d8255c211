// Merging makes tables equal whatever the order: checked with random entries.
#include <gtest/gtest.h>

#include <memory>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"
#include "fleet/table.hpp"

namespace godwit::fleet {
namespace {

struct Entries {
  std::vector<NodeEntry> nodes;
  std::vector<NameEntry> names;
};

Version random_version(Random& random) {
  return {1 + random.below(4), {1 + random.below(3)}, {1 + random.below(2)}};
}

// Few keys and few versions, so that ties and even contradictions are common.
Entries random_entries(Random& random, std::size_t count) {
  Entries entries;
  for (std::size_t i = 0; i < count; ++i) {
    if (random.chance(0.5)) {
      NodeEntry entry;
      entry.record = {.id = {1 + random.below(4)},
                      .epoch = {1 + random.below(2)},
                      .name = random.chance(0.5) ? "a" : "b",
                      .state = static_cast<NodeState>(random.below(3))};
      entry.version = random_version(random);
      entries.nodes.push_back(entry);
    } else {
      NameEntry entry{.key = random.chance(0.5) ? "x" : "y",
                      .version = random_version(random),
                      .erased = random.chance(0.3)};
      if (!entry.erased) entry.value.resize(random.below(3));
      entries.names.push_back(entry);
    }
  }
  return entries;
}

std::unique_ptr<Table> merged(std::initializer_list<const Entries*> all, TableLimits limits = {}) {
  auto table = std::make_unique<Table>(Table::Self{{9}, {1}}, limits);
  for (const Entries* entries : all) table->merge(entries->nodes, entries->names);
  return table;
}

bool same(const std::unique_ptr<Table>& a, const std::unique_ptr<Table>& b) {
  return a->digest().root() == b->digest().root() && *a->nodes() == *b->nodes();
}

TEST(TableMerge, IsCommutativeAssociativeAndIdempotent) {
  const Seed seed(2024);
  Random random(seed.value());
  for (int i = 0; i < 3000; ++i) {
    const Entries a = random_entries(random, random.below(8));
    const Entries b = random_entries(random, random.below(8));
    const Entries c = random_entries(random, random.below(8));
    const auto abc = merged({&a, &b, &c});
    ASSERT_TRUE(same(abc, merged({&c, &b, &a}))) << "iteration " << i;
    ASSERT_TRUE(same(abc, merged({&b, &c, &a}))) << "iteration " << i;
    ASSERT_TRUE(same(abc, merged({&a, &a, &b, &c, &b, &a}))) << "iteration " << i;
  }
}

Entries all_of(const Table& table) {
  Entries entries;
  for (std::size_t bucket = 0; bucket < Digest::kBuckets; ++bucket) {
    table.digest().for_each(static_cast<std::uint8_t>(bucket),
                            [&](std::uint64_t key, const Digest::Slot&) {
                              if (const auto* node = table.node_by_key(key)) {
                                entries.nodes.push_back(*node);
                              } else {
                                entries.names.push_back(*table.name_by_key(key));
                              }
                            });
  }
  return entries;
}

// Forgetting a grave may let an old value back in, but never in one table alone.
TEST(TableMerge, TablesThatForgetGravesAgreeOnceTheyHaveExchangedWhatTheyHave) {
  const Seed seed(7);
  Random random(seed.value());
  for (int i = 0; i < 1000; ++i) {
    const Entries a = random_entries(random, 12);
    const Entries b = random_entries(random, 12);
    const auto left = merged({&a}, {.max_graves = 2});
    const auto right = merged({&b}, {.max_graves = 2});
    for (int exchanges = 0; exchanges < 4 && !same(left, right); ++exchanges) {
      const Entries from_left = all_of(*left);
      right->merge(from_left.nodes, from_left.names);
      const Entries from_right = all_of(*right);
      left->merge(from_right.nodes, from_right.names);
    }
    ASSERT_TRUE(same(left, right)) << "iteration " << i;
  }
}

TEST(TableMerge, AWriteThatKnewOfAnotherBeatsItWhateverItsWriter) {
  Table low(Table::Self{{1}, {1}});
  Table high(Table::Self{{2}, {1}});
  ASSERT_TRUE(high.put_name("k", bytes_of("first")));
  low.merge({}, high.names(""));
  ASSERT_TRUE(low.put_name("k", bytes_of("second")));
  high.merge({}, low.names(""));
  EXPECT_EQ(text_of(high.find_name("k")->value), "second");
}

TEST(TableMerge, TheDigestFollowsEveryChange) {
  const Seed seed(99);
  Random random(seed.value());
  Table table(Table::Self{{9}, {1}});
  for (int i = 0; i < 500; ++i) {
    const Entries entries = random_entries(random, 3);
    const std::uint64_t before = table.digest().root();
    const bool changed = !table.merge(entries.nodes, entries.names).changed.empty();
    EXPECT_EQ(changed, before != table.digest().root());
    std::uint64_t sum = 0;
    for (const std::uint64_t bucket : table.digest().buckets()) sum += bucket;
    EXPECT_EQ(sum, table.digest().root());
  }
}

}  // namespace
}  // namespace godwit::fleet
