#include "call/watches.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <set>

#include "base/fail.hpp"
#include "call/incoming.hpp"

namespace godwit::call {
namespace {

// Regions 1 to 3 of 64 words of 2 bytes, in one shard each.
class FakeRegions final : public Regions {
 public:
  static constexpr std::uint64_t kElements = 64;

  Result<std::uint64_t> find(std::string_view) override {
    return fail(ErrorCode::not_found, "no names here");
  }
  Result<Pin> view(std::uint64_t id, std::string_view, std::uint32_t,
                   godwit_region_v1& view) override {
    if (gone.contains(id)) return fail(ErrorCode::not_found, "region {} was dropped", id);
    view.element_size = sizeof(std::uint16_t);
    view.id = id;
    view.elements = kElements;
    view.map = {kElements, kElements, 1, GODWIT_SHARD_IN_ORDER};
    view.shard = 0;
    view.data = words.at(id - 1).data();
    view.data_elements = kElements;
    view.name = "words";
    view.name_size = 5;
    return Pin(pinned);
  }
  Status apply(Bytes) override { return {}; }

  std::array<std::array<std::uint16_t, kElements>, 3> words{};
  std::set<std::uint64_t> gone;
  std::shared_ptr<int> pinned = std::make_shared<int>(0);
};

class WatchesTest : public testing::Test {
 protected:
  IncomingCall& call_for(std::uint64_t region, std::uint64_t index, std::uint64_t last_seen) {
    calls_.push_back(std::make_unique<IncomingCall>());
    calls_.back()->change = {
        .element_size = 2, .region = region, .index = index, .last_seen = last_seen};
    return *calls_.back();
  }
  // Adds one that is to wait.
  IncomingCall& wait_for(std::uint64_t region, std::uint64_t index) {
    IncomingCall& call = call_for(region, index, regions_.words[region - 1][index]);
    const auto added = watches_.add(regions_, call);
    EXPECT_TRUE(added && !*added);
    return call;
  }
  std::set<IncomingCall*> look_at_all() {
    std::set<IncomingCall*> found;
    while (watches_.has_touched()) {
      for (const Watches::Changed& changed : watches_.look()) {
        const auto& change = changed.call->change;
        EXPECT_EQ(changed.bits, regions_.words[change.region - 1][change.index]);
        EXPECT_TRUE(found.insert(changed.call).second);
      }
    }
    return found;
  }

  FakeRegions regions_;
  std::vector<std::unique_ptr<IncomingCall>> calls_;
  Watches watches_;
};

TEST_F(WatchesTest, ExactlyThoseWhoseWordsChangedAreFound) {
  std::mt19937_64 random(5);
  std::set<IncomingCall*> waiting;
  for (int round = 0; round < 300; ++round) {
    for (std::uint64_t i = random() % 8; i > 0; --i) {
      waiting.insert(&wait_for(1 + random() % 3, random() % FakeRegions::kElements));
    }
    for (std::uint64_t i = random() % 3; i > 0 && !waiting.empty(); --i) {
      watches_.remove(**waiting.begin());
      waiting.erase(waiting.begin());
    }
    for (std::uint64_t i = random() % 5; i > 0; --i) {
      ++regions_.words[random() % 3][random() % FakeRegions::kElements];
    }
    if (random() % 2 == 0) continue;  // several rounds' changes are found together
    watches_.touch_all();
    std::set<IncomingCall*> expected;
    for (IncomingCall* call : waiting) {
      const auto& change = call->change;
      if (regions_.words[change.region - 1][change.index] != change.last_seen)
        expected.insert(call);
    }
    EXPECT_EQ(look_at_all(), expected);
    for (IncomingCall* call : expected) waiting.erase(call);
    EXPECT_EQ(watches_.size(), waiting.size());
  }
}

TEST_F(WatchesTest, OnlyTheRegionThatWasTouchedIsLookedAt) {
  wait_for(1, 5);
  IncomingCall& second = wait_for(2, 5);
  ++regions_.words[0][5];
  ++regions_.words[1][5];
  EXPECT_TRUE(watches_.touch(2));
  EXPECT_FALSE(watches_.touch(3));
  EXPECT_EQ(look_at_all(), std::set<IncomingCall*>{&second});
  EXPECT_EQ(watches_.size(), 1U);
}

TEST_F(WatchesTest, ALookTakesAFewWordsAtATime) {
  constexpr std::size_t kWaiting = 3 * Watches::kWordsPerLook;
  for (std::size_t i = 0; i < kWaiting; ++i) wait_for(1, i % FakeRegions::kElements);
  for (std::uint16_t& word : regions_.words[0]) ++word;
  watches_.touch(1);
  EXPECT_EQ(watches_.look().size(), Watches::kWordsPerLook);
  EXPECT_TRUE(watches_.has_touched());
  EXPECT_EQ(look_at_all().size(), kWaiting - Watches::kWordsPerLook);
  EXPECT_TRUE(watches_.empty());
}

TEST_F(WatchesTest, WhoeverIsTouchedAllTheTimeIsLookedAtToTheEnd) {
  for (std::size_t i = 0; i < 2 * Watches::kWordsPerLook; ++i) wait_for(1, 5);
  IncomingCall& last = wait_for(1, 6);
  IncomingCall& other = wait_for(2, 6);
  ++regions_.words[0][6];
  ++regions_.words[1][6];
  std::set<IncomingCall*> found;
  for (int look = 0; look < 8; ++look) {
    watches_.touch(1);
    if (look == 0) watches_.touch(2);
    for (const Watches::Changed& changed : watches_.look()) found.insert(changed.call);
  }
  EXPECT_EQ(found, (std::set<IncomingCall*>{&last, &other}));
}

TEST_F(WatchesTest, WhatHasChangedAlreadyOrIsNotThereDoesNotWait) {
  regions_.words[0][3] = 7;
  const auto changed = watches_.add(regions_, call_for(1, 3, 6));
  ASSERT_TRUE(changed && *changed);
  EXPECT_EQ(**changed, 7U);
  const auto outside = watches_.add(regions_, call_for(1, FakeRegions::kElements, 0));
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(outside.error().message.find("element 64 of region 'words'"), std::string::npos);
  IncomingCall& wide = call_for(1, 3, 7);
  wide.change.element_size = 8;
  const auto mismatch = watches_.add(regions_, wide);
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().code, ErrorCode::type_mismatch);
  EXPECT_TRUE(watches_.empty());
}

TEST_F(WatchesTest, RegionsThatAreGoneAndDeadlinesEndThem) {
  IncomingCall& gone = wait_for(1, 5);
  IncomingCall& late = wait_for(2, 5);
  IncomingCall& patient = wait_for(2, 6);
  late.deadline = Time{10};
  patient.deadline = Time{30};
  regions_.gone = {1};
  const auto lost = watches_.end_lost(regions_);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].call, &gone);
  EXPECT_EQ(lost[0].why.code, ErrorCode::not_found);
  const auto ended = watches_.end_late(Time{20});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].call, &late);
  EXPECT_EQ(watches_.size(), 1U);
  EXPECT_EQ(regions_.pinned.use_count(), 2) << "the memory of a region is let go with its last";
}

TEST_F(WatchesTest, TheLimitIsKept) {
  for (std::size_t i = 0; i < Watches::kMax; ++i) wait_for(1, 5);
  const auto more = watches_.add(regions_, call_for(1, 5, 0));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::resource_exhausted);
  watches_.remove(*calls_.front());
  wait_for(1, 5);
}

}  // namespace
}  // namespace godwit::call
