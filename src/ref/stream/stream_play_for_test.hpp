// A store and its model side by side, and how a seed picks what happens to both.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "ref/stream/stream_for_test.hpp"
#include "ref/stream/stream_model_for_test.hpp"

namespace godwit::ref::stream {

class Play {
 protected:
  struct Wait {
    bool room = false;
    std::size_t group = 0;
    Holder holder;
    std::uint64_t size = 0;
  };

  explicit Play(std::uint64_t seed)
      : random_(seed),
        calm_(seed % 5 == 0),
        options_(some_options()),
        arena_({.budget_bytes = std::size_t{16} << 20, .slab_bytes = std::size_t{64} << 10}),
        store_(clock_, arena_,
               {.home = kHome,
                .ended_kept = std::chrono::hours(1'000),
                .on_ready =
                    [this](std::uint64_t waiter) {
                      EXPECT_EQ(waiting_.erase(waiter), 1) << "called twice, or never asked for";
                    }}),
        model_(clock_, options_),
        id_(store_.open("topic", options_).value()) {
    for (std::size_t i = 0; i < holders_.size(); ++i) holders_[i] = {{i + 1}, {1}};
  }

  TopicOptions some_options() {
    TopicOptions options{.max_bytes = 300 + random_.below(3'000),
                         .groups_awaited = static_cast<std::uint32_t>(random_.below(3))};
    if (random_.below(3) == 0) options.replay.items = random_.below(20);
    if (random_.below(3) == 0) options.replay.bytes = random_.below(1'000);
    if (random_.below(3) == 0) options.replay.time = Duration(random_.below(5'000'000'000));
    return options;
  }
  Holder someone() {
    Holder holder = random_.pick<Holder>(holders_);
    if (random_.below(16) == 0) --holder.epoch.value;
    return holder;
  }

  std::uint64_t offset_of(const Position& position) {
    if (position.kind == Position::Kind::oldest) return model_.readable_from(0);
    return position.kind == Position::Kind::end ? model_.items.size() : position.offset;
  }
  ErrorCode error_of(const Position& position) {
    if (position.kind != Position::Kind::offset) return ErrorCode::none;
    if (position.offset > model_.items.size()) return ErrorCode::invalid_argument;
    return model_.readable_from(position.offset) == position.offset ? ErrorCode::none
                                                                    : ErrorCode::not_found;
  }

  // What those are told for whom there is nothing.
  ErrorCode nothing_for(const ModelGroup& group, Holder holder) {
    if (model_.ended == ErrorCode::none) return ErrorCode::would_block;
    for (const auto& [offset, pending] : group.pending) {
      for (const ModelLease& lease : model_.leases) {
        if (lease.number.value == pending.lease && lease.holder != holder) {
          return ErrorCode::would_block;
        }
      }
    }
    return model_.ended == ErrorCode::shutting_down ? ErrorCode::none : model_.ended;
  }
  void compare() {
    store_.sweep();
    model_.sweep();
    const TopicStats stats = store_.describe(id_).value();
    EXPECT_EQ(stats.end, model_.items.size());
    EXPECT_EQ(stats.oldest, model_.readable_from(0));
    EXPECT_EQ(stats.kept_bytes, model_.kept_bytes());
    EXPECT_EQ(stats.kept_batches, model_.kept_batches());
    EXPECT_EQ(arena_.use().extents, model_.kept_batches());
    EXPECT_EQ(stats.leases, model_.leases.size());
    EXPECT_EQ(stats.producers, model_.producers.size());
    EXPECT_EQ(stats.ended, model_.ended != ErrorCode::none);
    EXPECT_EQ(store_.stats().waiters, waiting_.size());
    for (const ModelGroup& group : model_.groups) {
      const auto told = store_.describe(group.key);
      ASSERT_EQ(told.has_value(), group.alive);
      if (!told) continue;
      EXPECT_EQ(told->next, group.next);
      EXPECT_EQ(told->consumers, group.members.size());
      EXPECT_EQ(told->acked, group.pending.empty() ? group.next : group.pending.begin()->first);
    }
    for (const auto& [waiter, wait] : waiting_) expect_nothing_for(wait);
  }
  // Nobody waits for what is there.
  void expect_nothing_for(const Wait& wait) {
    if (wait.room) {
      EXPECT_EQ(model_.ended, ErrorCode::none);
      EXPECT_FALSE(model_.fits(wait.size));
      return;
    }
    ModelGroup group = model_.groups[wait.group];
    EXPECT_TRUE(group.alive);
    if (!model_.knows(wait.holder) || !group.members.contains(wait.holder.node.value)) return;
    EXPECT_TRUE(model_.take(group, {}).empty());
    EXPECT_EQ(nothing_for(group, wait.holder), ErrorCode::would_block);
  }
  void expect_each_delivered() {
    for (const ModelGroup& group : model_.groups) {
      if (!group.alive) continue;
      for (const std::uint64_t offset : group.owed) {
        EXPECT_TRUE(group.deliveries.contains(offset)) << "offset " << offset;
      }
      if (sought_) continue;
      for (const auto& [offset, count] : group.deliveries) {
        EXPECT_TRUE(count == 1 || model_.disturbed) << "offset " << offset;
      }
    }
  }

  Random random_;
  const bool calm_;  // nobody dies, and no time passes
  ManualClock clock_;
  const TopicOptions options_;
  Arena arena_;
  std::map<std::uint64_t, Wait> waiting_;
  StreamStore store_;
  StreamModel model_;
  const TopicId id_;
  std::array<Holder, 4> holders_;
  std::uint64_t waiters_ = 0;
  bool sought_ = false;
};

}  // namespace godwit::ref::stream
