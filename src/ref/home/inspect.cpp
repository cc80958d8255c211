// Time passes, and what a home tells about its objects.
#include <algorithm>

#include "ref/disk/object_folder.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {
namespace {

ObjectDescription describe_object(const StoreState& state, Object& object, Rights rights,
                                  Time now) {
  ObjectDescription told;
  told.handle = state.sign(object, object.newest, rights);
  told.lifetime = object.lifetime;
  if (object.lease_end != kNever) told.time_left = object.lease_end - now;
  told.readers_left = object.readers_left;
  if (object.owner != nullptr) told.owner = object.owner->holder;
  told.pins = object.pins - (object.newest.moving ? 1 : 0);  // that one is the home's own
  told.borrows = static_cast<std::uint32_t>(object.borrows.size());
  told.borrowed_for_writing = object.borrowed_for_writing();
  told.pinned_by_user = object.pinned_by_user;
  told.pending = object.presence == Presence::promised;
  told.broken = object.presence == Presence::broken;
  told.persistent = object.persistent;
  const bool absent = object.presence == Presence::there && !object.newest.in_memory();
  told.spilled = absent && object.newest.channel == 0;
  told.elsewhere = absent && object.newest.channel != 0;
  told.channel = object.newest.channel;
  told.reads = object.reads;
  told.age = now - object.created;
  return told;
}

}  // namespace

Result<ObjectDescription> ObjectStore::describe(const Handle& handle) const {
  GODWIT_CHECK(state_->check(handle, Rights::none));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  return describe_object(*state_, *object, handle.rights, state_->clock.now());
}

std::vector<ObjectDescription> ObjectStore::list(std::size_t at_most, Rights rights) const {
  std::vector<ObjectDescription> told;
  const Time now = state_->clock.now();
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [id, object] : shard.live) {
      if (told.size() >= at_most) return told;
      const bool over = object.lease_end <= now && object.borrows.empty() && !object.pinned_by_user;
      if (!over) told.push_back(describe_object(*state_, object, rights, now));
    }
  }
  return told;
}

ObjectStore::Stats ObjectStore::stats() const {
  Stats stats;
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    stats.puts += shard.puts;
    stats.resolves += shard.resolves;
    stats.evictions += shard.evictions;
    stats.expired += shard.expired;
    stats.objects += shard.live.size();
    stats.pins += shard.pins.size();
    stats.borrows += shard.borrows.size();
  }
  stats.spills = state_->spills.load(std::memory_order_relaxed);
  stats.loads = state_->loads.load(std::memory_order_relaxed);
  if (state_->options.folder != nullptr) stats.disk_bytes = state_->options.folder->used_bytes();
  stats.holders_lost = state_->holders_lost.load(std::memory_order_relaxed);
  stats.reservations = state_->reservations.size();
  stats.waiters = state_->waiters.size();
  stats.holders = state_->holders.size();
  return stats;
}

bool ObjectStore::renew(Holder holder) {
  return state_->holders.renew(holder);
}

void ObjectStore::leave(Holder holder) {
  if (const auto life = state_->holders.take(holder)) state_->end_life(*life);
}

void ObjectStore::lost(NodeId node) {
  state_->holders.lost(node);
}

void ObjectStore::cut_off(NodeId node) {
  state_->holders.cut_off(node);
}

void ObjectStore::remove_files() {
  if (state_->options.folder != nullptr) state_->remove_files({}, Arena::Wait::yes);
}

// Times first: what was over by then is not taken for what a silent holder left behind.
Time ObjectStore::sweep() {
  const Time now = state_->clock.now();
  for (Shard& shard : state_->shards) {
    while (Visit(*state_, shard).act_on_due(now)) {
    }
  }
  while (const auto silent = state_->holders.take_silent(now)) state_->end_life(*silent);
  Time next = state_->holders.next();
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    next = std::min(next, shard.times.next());
  }
  return next;
}

}  // namespace godwit::ref
