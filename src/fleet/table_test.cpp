#include "fleet/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::fleet {
namespace {

using testing::HasSubstr;

NodeEntry entry_of(std::uint64_t id, std::string name, NodeState state = NodeState::up) {
  NodeEntry entry;
  entry.record = {.id = {id}, .epoch = {1}, .name = std::move(name), .state = state};
  entry.version = {1, {id}, {1}};
  return entry;
}

class TableTest : public testing::Test {
 protected:
  void know(std::vector<NodeEntry> entries) {
    EXPECT_EQ(table.merge(entries, {}).changed.size(), entries.size());
  }
  Table table{{{0xAA}, {5}}, {.max_nodes = 20, .max_names = 5, .max_graves = 3}};
};

TEST_F(TableTest, PublishFillsInWhoWeAre) {
  ASSERT_TRUE(table.publish({.name = "self"}));
  const NodeEntry* own = table.node({0xAA});
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->record.epoch.value, 5U);
  EXPECT_EQ(table.find("self")->id.value, 0xAAU);
  EXPECT_EQ(table.publish({.name = "bad name"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(table.publish({.name = ""}).error().code, ErrorCode::invalid_argument);
}

TEST_F(TableTest, NodesComeInOrderOfTheirNamesAndTheListIsSharedUntilAChange) {
  know({entry_of(3, "a"), entry_of(1, "c"), entry_of(2, "b")});
  const NodeList before = table.nodes();
  ASSERT_EQ(before->size(), 3U);
  EXPECT_EQ(before->at(0).name + before->at(1).name + before->at(2).name, "abc");
  EXPECT_EQ(before, table.nodes());
  table.mark_lost({1}, {1});
  EXPECT_NE(before, table.nodes());
  EXPECT_EQ(before->at(2).state, NodeState::up) << "an old list must not change";
}

TEST_F(TableTest, FindsByNameByIdAndByTheFirstDigitsOfAnId) {
  know({entry_of(0xABCD000000000001, "alpha"), entry_of(0xABCE000000000001, "beta")});
  EXPECT_EQ(table.find("alpha")->id.value, 0xABCD000000000001U);
  EXPECT_EQ(table.find("abce000000000001")->name, "beta");
  EXPECT_EQ(table.find("abcd")->name, "alpha");
  EXPECT_EQ(table.find("abc").error().code, ErrorCode::not_found) << "too few digits";
}

TEST_F(TableTest, AnUnknownNameIsAnsweredWithCandidates) {
  know({entry_of(1, "node1"), entry_of(2, "node2"), entry_of(3, "other")});
  EXPECT_THAT(table.find("node").error().message, HasSubstr("did you mean node1, node2?"));
  EXPECT_THAT(table.find("xyz").error().message, HasSubstr("there are node1, node2, other"));
  EXPECT_THAT(Table(Table::Self{{1}, {1}}).find("xyz").error().message, HasSubstr("no nodes yet"));
}

TEST_F(TableTest, AnAmbiguousWordListsWhatItFitsAndTheLivingComeFirst) {
  know({entry_of(0x1111000000000001, "twin"), entry_of(0x1111000000000002, "twin"),
        entry_of(0x1111000000000003, "ghost", NodeState::lost)});
  const auto found = table.find("twin");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(found.error().message, HasSubstr("1111000000000001"));
  EXPECT_THAT(found.error().message, HasSubstr("1111000000000002"));
  EXPECT_FALSE(table.find("1111"));
  table.mark_lost({0x1111000000000001}, {1});
  EXPECT_EQ(table.find("twin")->id.value, 0x1111000000000002U);
  EXPECT_EQ(table.find("1111")->id.value, 0x1111000000000002U);
}

TEST_F(TableTest, ALostMarkHoldsForItsEpochOnly) {
  know({entry_of(7, "seven")});
  EXPECT_FALSE(table.mark_lost({7}, {2})) << "another epoch";
  EXPECT_TRUE(table.mark_lost({7}, {1}));
  EXPECT_FALSE(table.mark_lost({7}, {1})) << "already";
  NodeEntry restarted = entry_of(7, "seven");
  restarted.record.epoch = {2};
  know({restarted});
  EXPECT_EQ(table.node({7})->record.state, NodeState::up);
}

TEST_F(TableTest, NamesAreWrittenReadListedAndErased) {
  const auto first = table.put_name("job/1", bytes_of("one"));
  const auto second = table.put_name("job/2", bytes_of("two"));
  ASSERT_TRUE(table.put_name("other", {}));
  ASSERT_TRUE(first && second);
  EXPECT_GT(*second, *first);
  EXPECT_EQ(text_of(table.find_name("job/1")->value), "one");
  EXPECT_EQ(table.names("job/").size(), 2U);
  EXPECT_EQ(table.names("").size(), 3U);
  ASSERT_TRUE(table.erase_name("job/1"));
  EXPECT_EQ(table.find_name("job/1"), nullptr);
  EXPECT_EQ(table.names("job/").size(), 1U);
  EXPECT_EQ(table.erase_name("job/1").error().code, ErrorCode::not_found);
  EXPECT_EQ(table.put_name("", {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(table.put_name("a\nb", {}).error().code, ErrorCode::invalid_argument);
  const std::vector<std::byte> large(kMaxValueBytes + 1);
  EXPECT_EQ(table.put_name("large", large).error().code, ErrorCode::too_large);
}

TEST_F(TableTest, CompareAndPutWritesOnlyAtTheExpectedVersion) {
  const auto made = table.compare_and_put("lock", {}, bytes_of("mine"));
  ASSERT_TRUE(made);
  EXPECT_EQ(table.compare_and_put("lock", {}, bytes_of("yours")).error().code,
            ErrorCode::already_exists);
  EXPECT_EQ(text_of(table.find_name("lock")->value), "mine");
  EXPECT_TRUE(table.compare_and_put("lock", *made, bytes_of("ours")));
  EXPECT_FALSE(table.compare_and_put("lock", *made, bytes_of("late")));
  ASSERT_TRUE(table.erase_name("lock"));
  EXPECT_TRUE(table.compare_and_put("lock", {}, {})) << "an erased name does not exist";
}

TEST_F(TableTest, AFullTableRefusesNewNamesAndKeepsTakingNewValues) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(table.put_name("k" + std::to_string(i), {}));
  EXPECT_EQ(table.put_name("k5", {}).error().code, ErrorCode::resource_exhausted);
  EXPECT_TRUE(table.put_name("k4", bytes_of("new")));
  const NameEntry foreign{.key = "f", .version = {9, {1}, {1}}};
  EXPECT_EQ(table.merge({}, std::vector{foreign}).refused, 1U);
}

TEST_F(TableTest, OnlySoManyGravesAreKeptTheOldestGoFirst) {
  for (int i = 0; i < 5; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_TRUE(table.put_name(key, {}));
    ASSERT_TRUE(table.erase_name(key));
  }
  EXPECT_EQ(table.name_by_key(key_of(std::string_view("k0"))), nullptr);
  EXPECT_EQ(table.name_by_key(key_of(std::string_view("k1"))), nullptr);
  EXPECT_NE(table.name_by_key(key_of(std::string_view("k2"))), nullptr);
  EXPECT_TRUE(table.put_name("k9", {})) << "forgotten graves make room";
}

TEST_F(TableTest, VersionsBeyondTheLastAreRefused) {
  const NameEntry poison{.key = "p", .version = {kMaxCounter + 1, {1}, {1}}};
  EXPECT_EQ(table.merge({}, std::vector{poison}).refused, 1U);
  const NameEntry last{.key = "p", .version = {kMaxCounter, {1}, {1}}};
  EXPECT_EQ(table.merge({}, std::vector{last}).changed.size(), 1U);
  EXPECT_EQ(table.put_name("q", {}).error().code, ErrorCode::resource_exhausted);
}

TEST_F(TableTest, WatchersHearOfChangesUntilTheyStop) {
  int node_changes = 0;
  int local_names = 0;
  WatchId self{};
  int once = 0;
  self = table.watch([&](const Change&) {
    ++once;
    table.unwatch(self);
  });
  const WatchId id = table.watch([&](const Change& change) {
    node_changes += change.node != nullptr ? 1 : 0;
    local_names += change.name != nullptr && change.local ? 1 : 0;
  });
  know({entry_of(1, "a"), entry_of(2, "b")});
  ASSERT_TRUE(table.put_name("k", {}));
  EXPECT_EQ(table.merge(std::vector{entry_of(1, "a")}, {}).changed.size(), 0U);
  EXPECT_EQ(node_changes, 2);
  EXPECT_EQ(local_names, 1);
  EXPECT_EQ(once, 1);
  table.unwatch(id);
  ASSERT_TRUE(table.put_name("k", {}));
  EXPECT_EQ(local_names, 1);
}

}  // namespace
}  // namespace godwit::fleet
