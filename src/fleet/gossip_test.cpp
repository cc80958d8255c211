// One gossip between scripted links: what it sends, when, and to whom.
#include "fleet/gossip.hpp"

#include <gtest/gtest.h>

#include <string>

#include "fabric/sim/world.hpp"

namespace godwit::fleet {
namespace {

using namespace std::chrono_literals;

struct ScriptedLinks final : Links {
  struct Sent {
    NodeId to;
    TableMessage message;
  };
  void send_table(NodeId to, Bytes message) override {
    sent.push_back({to, decode(message).value()});
  }
  void reach(std::string_view address) override { reached.emplace_back(address); }
  std::vector<Sent> sent;
  std::vector<std::string> reached;
};

class GossipTest : public testing::Test {
 protected:
  void make(GossipOptions options = {}) {
    gossip = std::make_unique<Gossip>(world.scheduler(process), links, table, std::move(options));
    gossip->start();
  }
  static NodeEntry peer(std::uint64_t id, std::uint64_t counter = 1) {
    NodeEntry entry;
    entry.record = {
        .id = {id}, .epoch = {1}, .name = "p" + std::to_string(id), .addresses = {"sim:9"}};
    entry.version = {counter, {id}, {1}};
    return entry;
  }
  Status arrive(const TableMessage& message) { return gossip->on_table({50}, encode(message)); }

  fabric::sim::World world{1};
  fabric::sim::ProcessId process = world.add_process();
  ScriptedLinks links;
  Table table{{{1}, {3}}};
  std::unique_ptr<Gossip> gossip;
};

TEST_F(GossipTest, ALonelyNodeSetsNoTimer) {
  make();
  ASSERT_TRUE(table.publish({.name = "self", .addresses = {"sim:1"}}));
  ASSERT_TRUE(table.put_name("k", {}));
  world.run_for(10ms);
  EXPECT_FALSE(world.step()) << "something is still waiting";
  EXPECT_TRUE(links.sent.empty());
}

TEST_F(GossipTest, SeedsAreTriedAgainWithGrowingPauses) {
  make({.max_seed_pause_intervals = 16, .seeds = {"sim:7"}});
  EXPECT_EQ(links.reached.size(), 1U);
  world.run_for(100s);
  EXPECT_GE(links.reached.size(), 7U);
  EXPECT_LE(links.reached.size(), 14U);
}

TEST_F(GossipTest, AgreementCostsOneSmallMessagePerInterval) {
  make();
  ASSERT_TRUE(arrive({.nodes = {peer(2), peer(3)}}));
  links.sent.clear();
  world.run_for(100s);
  EXPECT_GE(links.sent.size(), 90U);
  EXPECT_LE(links.sent.size(), 110U);
  EXPECT_LT(gossip->counters().bytes_sent / gossip->counters().messages_sent, 100U);
  for (const auto& sent : links.sent) EXPECT_TRUE(sent.message.probe);
  const std::size_t before = links.sent.size();
  ASSERT_TRUE(arrive({.root = table.digest().root(), .probe = true}));
  EXPECT_EQ(links.sent.size(), before) << "equal tables need no answer";
}

TEST_F(GossipTest, WhoMissesSomethingAsksOneNeighbourAtOnceAndNotTooOften) {
  make();
  gossip->compare_now();
  EXPECT_TRUE(links.sent.empty()) << "there is nobody to ask";
  ASSERT_TRUE(arrive({.nodes = {peer(2), peer(3)}}));
  links.sent.clear();
  for (int i = 0; i < 10; ++i) gossip->compare_now();
  ASSERT_EQ(links.sent.size(), 1U);
  EXPECT_TRUE(links.sent[0].message.probe);
  EXPECT_EQ(links.sent[0].message.root, table.digest().root());
  world.run_for(Gossip::kComparePause);
  gossip->compare_now();
  EXPECT_EQ(links.sent.size(), 2U);
}

TEST_F(GossipTest, NewsIsPassedOnOnceAndOldNewsNotAtAll) {
  make();
  ASSERT_TRUE(arrive({.nodes = {peer(2), peer(3)}}));
  links.sent.clear();
  const TableMessage news{.rumour = true, .names = {{.key = "k", .version = {9, {2}, {1}}}}};
  ASSERT_TRUE(arrive(news));
  ASSERT_TRUE(arrive(news));
  world.run_for(100ms);
  ASSERT_EQ(links.sent.size(), 2U) << "both neighbours, once each";
  EXPECT_TRUE(links.sent[0].message.rumour);
  EXPECT_EQ(links.sent[0].message.names.size(), 1U);
  links.sent.clear();
  ASSERT_TRUE(arrive({.names = {{.key = "other", .version = {9, {2}, {1}}}}}));
  world.run_for(100ms);
  EXPECT_TRUE(links.sent.empty()) << "what a comparison brought is no rumour";
}

TEST_F(GossipTest, ANodeSaidToBeLostContradicts) {
  make();
  ASSERT_TRUE(table.publish({.name = "self", .addresses = {"sim:1"}}));
  ASSERT_TRUE(arrive({.nodes = {peer(2)}}));
  NodeEntry own = *table.node({1});
  own.record.state = NodeState::lost;
  own.version = {100, {2}, {1}};
  ASSERT_TRUE(arrive({.rumour = true, .nodes = {own}}));
  EXPECT_EQ(table.node({1})->record.state, NodeState::up);
  EXPECT_GT(table.node({1})->version.counter, 100U);
  EXPECT_EQ(gossip->counters().refutations, 1U);
  own.record.epoch = {4};  // another process with our id, started later
  ASSERT_TRUE(arrive({.rumour = true, .nodes = {own}}));
  EXPECT_EQ(gossip->counters().refutations, 1U);
  EXPECT_EQ(gossip->counters().identity_conflicts, 1U);
}

TEST_F(GossipTest, AMessageThatIsNoneIsAnErrorAndCounted) {
  make();
  EXPECT_FALSE(gossip->on_table({50}, bytes_of("this is no table message")));
  EXPECT_EQ(gossip->counters().malformed_messages, 1U);
}

TEST_F(GossipTest, NoAnswerExceedsWhatAMessageMayHold) {
  make();
  std::vector<NameEntry> names;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    names.push_back({.key = "key" + std::to_string(i),
                     .value = std::vector<std::byte>(1000),
                     .version = {i + 1, {2}, {1}}});
  }
  table.merge({}, names);
  TableMessage hungry{.probe = true};
  hungry.buckets.assign(Digest::kBuckets, 1);
  for (unsigned i = 0; i < Digest::kBuckets; ++i) {
    hungry.summary_buckets.push_back(static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < kWantsPerMessage; ++i) hungry.wants.push_back(key_of(names[i].key));
  ASSERT_TRUE(arrive(hungry));
  ASSERT_EQ(links.sent.size(), 4U);
  for (const auto& sent : links.sent) EXPECT_LT(encode(sent.message).size(), 40U * 1024);
}

}  // namespace
}  // namespace godwit::fleet
