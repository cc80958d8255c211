// A store and its model side by side, and how a seed picks what happens to both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "ref/home/neighbour_for_test.hpp"
#include "ref/home/store_for_test.hpp"
#include "ref/home/store_model_for_test.hpp"

namespace godwit::ref {

class Play {
 protected:
  // Making the currency takes longer than a play.
  Play(std::uint64_t seed, std::shared_ptr<Currency> currency)
      : random_(seed),
        threads_(seed % 8 == 0),
        options_(options(std::move(currency))),
        store_(clock_, options_),
        neighbour_(*options_.currency, store_.arena()),
        model_(clock_, options_) {
    for (std::size_t i = 0; i < holders_.size(); ++i) holders_[i] = {{i + 1}, {1}};
  }

  // Now and then one of a life before, which may or may not be over.
  Holder someone() {
    Holder holder = random_.pick<Holder>(holders_);
    if (random_.below(16) == 0) --holder.epoch.value;
    return holder;
  }
  Duration some_time() { return Duration(1 + random_.below(4'000'000'000)); }
  std::string some_text() {
    return std::string(random_.below(300), static_cast<char>('a' + random_.below(26)));
  }
  Lifetime some_lifetime() {
    return {.kind = static_cast<LifetimeKind>(random_.below(4)),
            .readers = static_cast<std::uint32_t>(1 + random_.below(3)),
            .lease = some_time()};
  }
  NewObject some_object() { return {.lifetime = some_lifetime(), .owned = random_.below(3) == 0}; }
  // Rather a recent one.
  ModelObject& some_known() {
    const std::size_t recent = std::min<std::size_t>(model_.objects.size(), 6);
    return model_.objects[model_.objects.size() - 1 - random_.below(recent)];
  }
  std::uint64_t some_version(const ModelObject& object) {
    return random_.below(3) == 0 ? 1 + random_.below(object.newest()) : object.newest();
  }
  Handle handle_of(const ModelObject& object, std::uint64_t version) {
    Handle handle = object.handle;
    handle.version = version;
    if (version <= object.versions.size()) handle.size = object.versions[version - 1].size();
    options_.key.sign(handle);
    return handle;
  }
  // A thread's objects are in a shard of its own. Threads take their time where the machine is
  // busy: few seeds make some.
  template <class F>
  auto somewhere(F&& call) {
    if (!threads_ || random_.below(4) != 0) return call();
    decltype(call()) result;
    std::thread([&] { result = call(); }).join();
    return result;
  }

  // A home vouches for the newest version of what anybody may read as often as they like.
  static bool is_vouched_for(const ModelObject& object, std::uint64_t version) {
    return object.alive && object.presence == ModelObject::Presence::there &&
           object.lifetime.kind != LifetimeKind::readers && version == object.newest();
  }

  void compare() {
    store_.sweep();
    model_.sweep();
    compare_called();
    for (const Told& told : told_) {
      if (!neighbour_.holds(told.ticket)) continue;
      EXPECT_TRUE(is_vouched_for(model_.objects[told.object], told.version))
          << "a ticket holds of version " << told.version;
    }
    std::uint64_t alive = 0, pins = 0, borrows = 0, waiters = 0, extents = 0;
    for (const ModelObject& object : model_.objects) {
      SCOPED_TRACE("object " + object.handle.object.short_hex());
      compare_object(object);
      alive += object.alive ? 1 : 0;
      pins += object.pins.size();
      borrows += object.borrows.size();
      waiters += object.waiters.size();
      extents += extents_of(object);
    }
    for (const auto& [ticket, room] : model_.rooms) extents += room.second.empty() ? 0 : 1;
    const ObjectStore::Stats stats = store_.stats();
    EXPECT_EQ(stats.objects, alive);
    EXPECT_EQ(stats.pins, pins);
    EXPECT_EQ(stats.borrows, borrows);
    EXPECT_EQ(stats.waiters, waiters);
    EXPECT_EQ(stats.reservations, model_.rooms.size());
    EXPECT_EQ(store_.arena().use().extents, extents);
    EXPECT_EQ(store_.list(1'000).size(), alive);
  }
  // Everybody dies, and what belongs to nobody is evicted.
  void finish() {
    clock_.advance(options_.holder_lease);
    model_.pass();
    compare();
    const ObjectStore::Stats held = store_.stats();
    EXPECT_EQ(held.pins + held.borrows + held.reservations, 0);
    for (ModelObject& object : model_.objects) {
      EXPECT_TRUE(store_.evict(object.handle));
      if (object.alive) model_.end(object);
    }
    compare();
    EXPECT_EQ(store_.stats().objects + store_.stats().waiters, 0);
    EXPECT_EQ(store_.arena().use().used_bytes, 0);
  }

  Random random_;
  const bool threads_;
  ManualClock clock_;
  std::vector<std::uint64_t> called_;
  const ObjectStore::Options options_;
  ObjectStore store_;
  Neighbour neighbour_;
  Model model_;
  std::array<Holder, 4> holders_;
  // What the neighbour was told can be had.
  struct Told {
    std::uint64_t ticket = 0;
    std::size_t object = 0;  // its place in the model
    std::uint64_t version = 0;
  };
  std::vector<Told> told_;

 private:
  ObjectStore::Options options(std::shared_ptr<Currency> currency) {
    ObjectStore::Options options = options_for_test();
    options.currency = std::move(currency);
    options.arena.slab_bytes = std::size_t{64} << 10;
    options.on_ready = [this](std::uint64_t waiter) { called_.push_back(waiter); };
    return options;
  }
  void compare_called() {
    std::sort(called_.begin(), called_.end());
    std::sort(model_.called.begin(), model_.called.end());
    EXPECT_EQ(called_, model_.called);
  }
  void compare_object(const ModelObject& object) {
    const bool readable = object.alive && object.presence != ModelObject::Presence::broken;
    for (std::uint64_t version = 1; version <= object.newest(); ++version) {
      const Handle handle = handle_of(object, version);
      EXPECT_EQ(store_.exists(handle), readable && object.has_version(version))
          << "version " << version;
      const auto shown = neighbour_.copy_shown(handle);
      if (!shown) continue;
      EXPECT_TRUE(is_vouched_for(object, version) && !object.lease_end) << "version " << version;
      EXPECT_EQ(*shown, object.versions[version - 1]);
    }
    for (const ModelPin& pin : object.pins) {
      const std::string& text = object.versions[pin.version - 1];
      EXPECT_EQ(text_of({pin.data, text.size()}), text);
    }
    const auto told = store_.describe(object.handle);
    ASSERT_EQ(told.has_value(), object.alive);
    if (!told) return;
    EXPECT_EQ(told->handle.version, object.newest());
    EXPECT_EQ(told->lifetime, object.lifetime.kind);
    EXPECT_EQ(told->owner, object.owner);
    EXPECT_EQ(told->pins, object.pins.size());
    EXPECT_EQ(told->borrows, object.borrows.size());
    EXPECT_EQ(told->borrowed_for_writing, !object.borrows.empty() && object.borrows[0].writes);
    EXPECT_EQ(told->pinned_by_user, object.user_pin);
    EXPECT_EQ(told->pending, object.presence == ModelObject::Presence::promised);
    EXPECT_EQ(told->broken, object.presence == ModelObject::Presence::broken);
    EXPECT_EQ(told->time_left.has_value(), object.lease_end.has_value());
    if (object.lifetime.kind == LifetimeKind::readers) {
      EXPECT_EQ(told->readers_left, object.lifetime.readers);
    }
  }
  // How many pieces of memory its versions have.
  static std::uint64_t extents_of(const ModelObject& object) {
    std::set<std::uint64_t> kept;
    for (const ModelPin& pin : object.pins) kept.insert(pin.version);
    if (object.alive) kept.insert(object.newest());
    return static_cast<std::uint64_t>(std::count_if(kept.begin(), kept.end(), [&](auto version) {
      return version <= object.versions.size() && !object.versions[version - 1].empty();
    }));
  }
};

}  // namespace godwit::ref
