// Random verbs by several holders, deaths and jumps of time, checked against a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizers.hpp"
#include "base/seeds_for_test.hpp"
#include "ref/home/making_verbs_for_test.hpp"

namespace godwit::ref {
namespace {

class Verbs : MakingVerbs {
 public:
  Verbs(std::uint64_t seed, std::shared_ptr<Currency> currency, PlayFolder* folder = nullptr)
      : MakingVerbs(seed, std::move(currency), folder) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      if (random_.below(8) == 0) compare();
    }
    if (!testing::Test::HasFailure()) finish();
  }

 private:
  void step() {
    if (model_.objects.empty() || random_.below(12) == 0) return put();
    if (folder_ != nullptr && random_.below(40) == 0) return restart();
    switch (random_.below(25)) {
      case 0: return promise();
      case 1: return reserve();
      case 2: return make_room_an_object();
      case 3:
      case 4: return update_or_fulfil();
      case 5:
      case 6:
      case 7: return locate();
      case 8:
      case 9:
      case 10: return release();
      case 11:
      case 12: return borrow();
      case 13: return give_back();
      case 14: return own_or_disown();
      case 15: return offer();
      case 16: return accept();
      case 17: return random_.below(2) == 0 ? drop() : evict();
      case 18: return set_lifetime();
      case 19: return set_pinned();
      case 20: return wait();
      case 21: return random_.below(2) == 0 ? take_over() : break_promise();
      case 22:
      case 23: return vouch();
      default: return live();
    }
  }

  // What anybody is told who asks for an object that is there.
  static ErrorCode presence_of(const ModelObject& object) {
    if (!object.alive) return ErrorCode::not_found;
    if (object.presence == Presence::promised) return ErrorCode::would_block;
    return object.presence == Presence::broken ? object.broken : ErrorCode::none;
  }

  void locate() {
    const Holder holder = someone();
    const bool admitted = model_.admit(holder);
    ModelObject& object = some_known();
    const std::uint64_t version = some_version(object);
    ErrorCode expected = admitted ? presence_of(object) : ErrorCode::node_lost;
    if (expected == ErrorCode::none && !object.has_version(version)) expected = ErrorCode::stale;
    const auto located = store_->locate(holder, handle_of(object, version), kWait);
    if (expected == ErrorCode::none && no_room(located)) return;
    ASSERT_EQ(code_of(located), expected) << (located ? "" : located.error().message);
    if (!located) return;
    object.pins.push_back({located->pin, holder, version, located->data, false});
    if (random_.below(4) != 0) return;
    const auto again = store_->locate_again(holder, handle_of(object, version), located->pin);
    ASSERT_TRUE(again);
    object.pins.push_back({again->pin, holder, version, again->data, true});
  }
  void release() {
    ModelObject& object = some_known();
    if (object.pins.empty()) return;
    const std::size_t place = random_.below(object.pins.size());
    const ModelPin pin = object.pins[place];
    store_->release({pin.holder.node, {99}}, pin.number);
    store_->release(pin.holder, pin.number);
    model_.unpin(object, place, true);
  }
  void borrow() {
    const Holder holder = someone();
    const bool admitted = model_.admit(holder);
    ModelObject& object = some_known();
    const bool writes = random_.below(3) == 0;
    ErrorCode expected = admitted ? presence_of(object) : ErrorCode::node_lost;
    if (expected == ErrorCode::none && object.dropped) {
      expected = ErrorCode::not_found;
    } else if (expected == ErrorCode::none && !object.borrows.empty()) {
      if (writes || object.borrows[0].writes) expected = ErrorCode::borrowed;
    }
    const auto number =
        store_->borrow(holder, object.handle,
                       writes ? ObjectStore::BorrowKind::write : ObjectStore::BorrowKind::read);
    ASSERT_EQ(code_of(number), expected) << (number ? "" : number.error().message);
    if (number) object.borrows.push_back({*number, holder, writes});
  }
  void give_back() {
    ModelObject& object = some_known();
    if (object.borrows.empty()) return;
    const std::size_t place = random_.below(object.borrows.size());
    store_->give_back(object.borrows[place].holder, object.borrows[place].number);
    model_.give_back(object, place);
  }
  void own_or_disown() {
    const Holder holder = someone();
    ModelObject& object = some_known();
    if (random_.below(3) == 0) {
      const ErrorCode expected = owner_only(object, holder);
      ASSERT_EQ(code_of(store_->disown(holder, object.handle)), expected);
      if (expected == ErrorCode::none) model_.set_owner(object, std::nullopt);
      return;
    }
    ErrorCode expected = ErrorCode::none;
    if (!model_.admit(holder)) {
      expected = ErrorCode::node_lost;
    } else if (!object.alive || object.dropped) {
      expected = ErrorCode::not_found;
    } else if (object.owner && *object.owner != holder) {
      expected = ErrorCode::permission;
    }
    ASSERT_EQ(code_of(store_->own(holder, object.handle)), expected);
    if (expected == ErrorCode::none && !object.owner) model_.set_owner(object, holder);
  }
  static ErrorCode owner_only(const ModelObject& object, Holder holder) {
    if (!object.alive) return ErrorCode::not_found;
    return object.owner == holder ? ErrorCode::none : ErrorCode::permission;
  }
  void offer() {
    ModelObject& object = some_known();
    const Holder holder = object.owner && random_.below(4) != 0 ? *object.owner : someone();
    const Duration lease = some_time();
    const auto number = store_->offer(holder, object.handle, lease);
    ASSERT_EQ(code_of(number), owner_only(object, holder));
    if (!number) return;
    object.offer = *number;
    object.offer_until = clock_.now() + lease;
    last_offer_ = *number;
  }
  void accept() {
    const Holder holder = someone();
    const bool admitted = model_.admit(holder);
    ModelObject& object = some_known();
    const std::uint64_t number = random_.below(4) == 0 ? last_offer_ : object.offer;
    ErrorCode expected = ErrorCode::none;
    if (!admitted) {
      expected = ErrorCode::node_lost;
    } else if (!object.alive || number == 0 || object.offer != number) {
      expected = ErrorCode::not_found;
    }
    ASSERT_EQ(code_of(store_->accept(holder, object.handle, number)), expected);
    if (expected == ErrorCode::none) model_.set_owner(object, holder);
  }
  void drop() {
    ModelObject& object = some_known();
    const Holder holder = object.owner ? *object.owner : someone();
    const ErrorCode expected = owner_only(object, holder);
    ASSERT_EQ(code_of(store_->drop(holder, object.handle)), expected);
    if (expected == ErrorCode::none) model_.drop(object);
  }
  void evict() {
    ModelObject& object = some_known();
    const bool borrowed = object.alive && !object.borrows.empty();
    ASSERT_EQ(code_of(store_->evict(object.handle)),
              borrowed ? ErrorCode::borrowed : ErrorCode::none);
    if (object.alive && !borrowed) model_.end(object);
  }
  void set_lifetime() {
    ModelObject& object = some_known();
    const Holder holder = someone();
    const Lifetime lifetime = some_lifetime();
    ErrorCode expected = ErrorCode::none;
    if (lifetime.kind == LifetimeKind::holder && !model_.admit(holder)) {
      expected = ErrorCode::node_lost;
    } else if (!object.alive) {
      expected = ErrorCode::not_found;
    } else if (object.persistent && lifetime.kind == LifetimeKind::holder) {
      expected = ErrorCode::invalid_argument;
    }
    ASSERT_EQ(code_of(store_->set_lifetime(object.handle, lifetime, holder)), expected);
    if (expected == ErrorCode::none) model_.set_lifetime(object, lifetime, holder);
  }
  void set_pinned() {
    ModelObject& object = some_known();
    const bool pinned = random_.below(2) == 0;
    ASSERT_EQ(store_->set_pinned(object.handle, pinned).has_value(), object.alive);
    object.user_pin = pinned;
    model_.end_if_over(object);
  }
  void wait() {
    if (random_.below(4) == 0 && waiters_ != 0) {
      compare();  // a waiter whose time has come, unnoticed, would be stopped here and called there
      const std::uint64_t stopped = 1 + random_.below(waiters_);
      store_->stop_waiting(stopped);
      for (ModelObject& object : model_.objects) object.waiters.erase(stopped);
      return;
    }
    ModelObject& object = some_known();
    const std::uint64_t newer_than = random_.below(object.newest() + 2);
    const auto now = store_->wait(object.handle, newer_than, ++waiters_);
    ASSERT_EQ(now.has_value(), object.alive);
    if (!now) return;
    const bool there = object.presence == Presence::there && object.newest() > newer_than;
    ASSERT_EQ(*now, there || object.presence == Presence::broken);
    if (!*now) object.waiters[waiters_] = newer_than;
  }
  void vouch() {
    ModelObject& object = some_known();
    const std::uint64_t version = some_version(object);
    const Handle handle = handle_of(object, version);
    const Voucher voucher = store_->vouch_for(handle);
    ASSERT_EQ(voucher.ticket != 0, is_vouched_for(object, version));
    if (voucher.ticket == 0) return;
    EXPECT_TRUE(neighbour_->holds(voucher.ticket));
    EXPECT_EQ(voucher.time_left.has_value(), object.lease_end.has_value());
    const std::size_t size = object.versions[version - 1].size();
    const bool shown = size != 0 && size <= Currency::kMaxShownBytes && !is_spilled(object);
    EXPECT_EQ(neighbour_->copy_shown(handle).has_value(), shown && !object.lease_end);
    told_.push_back(
        {voucher.ticket, static_cast<std::size_t>(&object - model_.objects.data()), version});
  }
  void live() {
    Holder& holder = random_.pick<Holder>(holders_);
    switch (random_.below(8)) {
      case 0: store_->lost(holder.node); return model_.lost(holder.node);
      case 1: ++holder.epoch.value; return;
      case 2: store_->sweep(); return model_.sweep();
      case 3:
      case 4: clock_.advance(some_time()); return model_.pass();
      case 5: store_->leave(holder); return model_.leave(holder);
      default:
        for (const Holder& each : holders_) {
          if (random_.below(8) == 0) continue;
          EXPECT_EQ(store_->renew(each), model_.renew(each));
        }
    }
  }

  std::uint64_t last_offer_ = 0;
  std::uint64_t waiters_ = 0;
};

// A sanitized build runs ten times slower; it sees the same code with fewer seeds.
constexpr std::uint64_t kSeeds = kSanitized ? 100 : 3'000;

TEST(StoreModel, RandomVerbsAndDeathsDoWhatTheModelSays) {
  const std::shared_ptr<Currency> currency = Currency::create().value();
  for (const std::uint64_t seed : Seeds(1, kSeeds)) Verbs(seed, currency).run(150);
}

// Disks take their time.
constexpr std::uint64_t kDiskSeeds = kSanitized ? 10 : 40;

// Homes with a folder, little memory and several lives.
void play_with_folders(std::uint64_t first, std::uint64_t last, int steps) {
  const std::shared_ptr<Currency> currency = Currency::create().value();
  PlayFolder::Counts counts;
  for (const std::uint64_t seed : Seeds(first, last)) {
    PlayFolder folder;
    Verbs(seed, currency, &folder).run(steps);
    counts += folder.counts;
  }
  if (wanted_seed()) return;
  const std::uint64_t plays = last - first + 1;
  EXPECT_GT(counts.spills, plays);
  EXPECT_GT(counts.loads, plays);
  EXPECT_GT(counts.read_back, plays);
  EXPECT_LT(counts.refused, plays * static_cast<std::uint64_t>(steps) / 50) << "memory is for use";
}

TEST(StoreModel, HomesThatDieAndStartAgainDoWhatTheModelSays) {
  play_with_folders(1, kDiskSeeds, 150);
}

TEST(StoreModel, HomesThatDieAndStartAgainDoWhatTheModelSaysLong) {
  play_with_folders(10'001, 10'100, 400);
}

TEST(StoreModel, RandomVerbsAndDeathsDoWhatTheModelSaysLong) {
  const std::shared_ptr<Currency> currency = Currency::create().value();
  for (const std::uint64_t seed : Seeds(10'001, 16'000)) Verbs(seed, currency).run(400);
}

}  // namespace
}  // namespace godwit::ref
