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
#include "ref/home/play_folder_for_test.hpp"
#include "ref/home/store_for_test.hpp"
#include "ref/home/store_model_for_test.hpp"

namespace godwit::ref {

class Play {
 protected:
  // Making the currency takes longer than a play. The home has a folder, or none.
  Play(std::uint64_t seed, std::shared_ptr<Currency> currency, PlayFolder* folder)
      : random_(seed),
        threads_(seed % 8 == 0),
        folder_(folder),
        options_(options(std::move(currency))),
        model_(clock_, options_) {
    for (std::size_t i = 0; i < holders_.size(); ++i) holders_[i] = {{i + 1}, {1}};
    start();
  }

  // Killed at any moment; some time later the next process serves what is in its folder.
  void restart() {
    store_->remove_files();  // as its thread for that does all the time
    folder_->leave_as_it_is();
    count();
    store_.reset();
    options_.folder.reset();
    if (random_.below(2) == 0) clock_.advance(some_time());
    told_.clear();
    called_.clear();
    options_.currency = Currency::create().value();
    start();
    model_.restart();
    EXPECT_EQ(store_->arena().use().extents, 0) << "nothing is read before it is asked for";
    compare();
    if (random_.below(2) == 0) read_all();
  }
  // A home with a folder has little memory, and all of it may be in use.
  template <class T>
  bool no_room(const Result<T>& result) {
    if (folder_ == nullptr || code_of(result) != ErrorCode::resource_exhausted) return false;
    ++folder_->counts.refused;
    return true;
  }

  // Now and then one of a life before, which may or may not be over.
  Holder someone() {
    Holder holder = random_.pick<Holder>(holders_);
    if (random_.below(16) == 0) --holder.epoch.value;
    return holder;
  }
  Duration some_time() { return Duration(1 + random_.below(4'000'000'000)); }
  std::string some_text() {
    const bool large = folder_ != nullptr && random_.below(3) == 0;
    return std::string(random_.below(large ? 60'000 : 300),
                       static_cast<char>('a' + random_.below(26)));
  }
  Lifetime some_lifetime() {
    return {.kind = static_cast<LifetimeKind>(random_.below(4)),
            .readers = static_cast<std::uint32_t>(1 + random_.below(3)),
            .lease = some_time()};
  }
  NewObject some_object() {
    NewObject wanted{.lifetime = some_lifetime(), .owned = random_.below(3) == 0};
    if (folder_ != nullptr && random_.below(2) == 0) {
      wanted.persist = true;
      if (random_.below(8) != 0) wanted.owned = false;
    }
    return wanted;
  }
  // Without a process it would have to outlive.
  static bool is_refused(const NewObject& wanted) {
    return wanted.persist && (wanted.owned || wanted.lifetime.kind == LifetimeKind::holder);
  }
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

  // The store chooses, but only of what it has a folder for.
  bool is_spilled(const ModelObject& object) {
    return folder_ != nullptr && store_->describe(object.handle).value().spilled;
  }

  void compare() {
    store_->sweep();
    model_.sweep();
    compare_called();
    if (folder_ != nullptr) compare_files();
    for (const Told& told : told_) {
      if (!neighbour_->holds(told.ticket)) continue;
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
    const ObjectStore::Stats stats = store_->stats();
    EXPECT_EQ(stats.objects, alive);
    EXPECT_EQ(stats.pins, pins);
    EXPECT_EQ(stats.borrows, borrows);
    EXPECT_EQ(stats.waiters, waiters);
    EXPECT_EQ(stats.reservations, model_.rooms.size());
    EXPECT_EQ(store_->arena().use().extents, extents);
    EXPECT_EQ(store_->list(1'000).size(), alive);
  }
  // Everybody dies, and what belongs to nobody is evicted.
  void finish() {
    clock_.advance(options_.holder_lease);
    model_.pass();
    compare();
    const ObjectStore::Stats held = store_->stats();
    EXPECT_EQ(held.pins + held.borrows + held.reservations, 0);
    for (ModelObject& object : model_.objects) {
      EXPECT_TRUE(store_->evict(object.handle));
      if (object.alive) model_.end(object);
    }
    compare();
    EXPECT_EQ(store_->stats().objects + store_->stats().waiters, 0);
    EXPECT_EQ(store_->arena().use().used_bytes, 0);
    if (folder_ != nullptr) {
      EXPECT_TRUE(folder_->files().empty());
      count();
    }
  }

  Random random_;
  const bool threads_;
  PlayFolder* const folder_;
  ManualClock clock_;
  std::vector<std::uint64_t> called_;
  ObjectStore::Options options_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<Neighbour> neighbour_;
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
    options.on_warning = [](const std::string& text) { ADD_FAILURE() << text; };
    options.wall_ns = [this] { return clock_.now().ns; };
    if (folder_ != nullptr) options.arena.budget_bytes = std::size_t{128} << 10;
    return options;
  }
  void start() {
    std::vector<ObjectRecord> objects;
    if (folder_ != nullptr) {
      ObjectFolder::Opened opened = folder_->open();
      EXPECT_TRUE(opened.broken.empty());
      objects = std::move(opened.objects);
      options_.key = opened.folder->key().value();
      options_.folder = std::move(opened.folder);
    }
    store_ = std::make_unique<ObjectStore>(clock_, options_);
    store_->restore(std::move(objects));
    neighbour_ = std::make_unique<Neighbour>(*options_.currency, store_->arena());
  }
  // What has come back, but for those that it would end.
  void read_all() {
    const Holder holder = holders_[0];
    for (const ModelObject& object : model_.objects) {
      if (!object.alive || object.lifetime.kind == LifetimeKind::readers) continue;
      ASSERT_TRUE(model_.admit(holder));
      const auto located = store_->locate(holder, handle_of(object, object.newest()), kWait);
      if (no_room(located)) continue;
      ASSERT_TRUE(located) << located.error().message;
      EXPECT_EQ(text_of({located->data, located->size}), object.versions.back());
      store_->release(holder, located->pin);
      ++folder_->counts.read_back;
    }
  }
  // At the end of a life.
  void count() {
    folder_->counts += {.spills = store_->stats().spills, .loads = store_->stats().loads};
  }
  // Those of ended objects and of older versions are gone.
  void compare_files() {
    store_->remove_files();
    std::set<std::string> files = folder_->files();
    for (const ModelObject& object : model_.objects) {
      if (!object.alive) continue;
      const std::string name = ObjectFileName::of(handle_of(object, object.newest())).text();
      const bool there = files.erase(name) != 0;
      EXPECT_TRUE(there || !object.file) << name << " is not there";
    }
    EXPECT_TRUE(files.empty()) << *files.begin() << " is of no object";
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
      EXPECT_EQ(store_->exists(handle), readable && object.has_version(version))
          << "version " << version;
      const auto shown = neighbour_->copy_shown(handle);
      if (!shown) continue;
      EXPECT_TRUE(is_vouched_for(object, version) && !object.lease_end) << "version " << version;
      EXPECT_EQ(*shown, object.versions[version - 1]);
    }
    for (const ModelPin& pin : object.pins) {
      const std::string& text = object.versions[pin.version - 1];
      EXPECT_EQ(text_of({pin.data, text.size()}), text);
    }
    const auto told = store_->describe(object.handle);
    ASSERT_EQ(told.has_value(), object.alive);
    if (!told) return;
    EXPECT_EQ(told->handle.version, object.newest());
    EXPECT_EQ(told->lifetime, object.lifetime.kind);
    EXPECT_EQ(told->owner, object.owner);
    EXPECT_EQ(told->pins, object.pins.size());
    EXPECT_EQ(told->borrows, object.borrows.size());
    EXPECT_EQ(told->borrowed_for_writing, !object.borrows.empty() && object.borrows[0].writes);
    EXPECT_EQ(told->pinned_by_user, object.user_pin);
    EXPECT_EQ(told->persistent, object.persistent);
    EXPECT_EQ(told->pending, object.presence == ModelObject::Presence::promised);
    EXPECT_EQ(told->broken, object.presence == ModelObject::Presence::broken);
    EXPECT_EQ(told->time_left.has_value(), object.lease_end.has_value());
    if (object.lifetime.kind == LifetimeKind::readers) {
      EXPECT_EQ(told->readers_left, object.lifetime.readers);
    }
  }
  // How many pieces of memory its versions have.
  std::uint64_t extents_of(const ModelObject& object) {
    std::set<std::uint64_t> kept;
    for (const ModelPin& pin : object.pins) kept.insert(pin.version);
    if (object.alive && !is_spilled(object)) kept.insert(object.newest());
    return static_cast<std::uint64_t>(std::count_if(kept.begin(), kept.end(), [&](auto version) {
      return version <= object.versions.size() && !object.versions[version - 1].empty();
    }));
  }
};

}  // namespace godwit::ref
