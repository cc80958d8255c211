// Until when objects live.
#include <algorithm>

#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {

Status ObjectStore::set_lifetime(const Handle& handle, const Lifetime& lifetime, Holder holder,
                                 Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  GODWIT_CHECK(check_lifetime(lifetime));
  {
    Visit visit(*state_, state_->shard_of(handle.object));
    HolderShare* share = nullptr;
    if (lifetime.kind == LifetimeKind::holder) {
      GODWIT_TRY(share, visit.admit(holder));
    }
    GODWIT_TRY(Object * object, visit.find(handle));
    if (!object->persistent) {
      visit.set_lifetime(*object, lifetime, share, state_->clock.now());
      return {};
    }
  }
  return state_->set_lifetime(handle, lifetime, wait);
}

Status ObjectStore::set_pinned(const Handle& handle, bool pinned) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  object->pinned_by_user = pinned;
  visit.settle(*object);
  visit.end_if_over(*object);
  return {};
}

void Visit::set_lifetime(Object& object, const Lifetime& lifetime, HolderShare* share, Time now) {
  recall(object);
  object.lifetime = lifetime.kind;
  object.lifetime_over = false;
  object.readers_left = lifetime.kind == LifetimeKind::readers ? lifetime.readers : 0;
  object.lease = lifetime.lease;
  // The lease of what is promised begins when it comes.
  const bool runs = lifetime.kind == LifetimeKind::lease && object.presence != Presence::promised;
  object.lease_end = runs ? after(now, lifetime.lease) : kNever;
  set_keeper(object, lifetime.kind == LifetimeKind::holder ? share : nullptr);
  reschedule(object);
}

void Visit::set_keeper(Object& object, HolderShare* share) {
  if (object.kept_by != nullptr) object.kept_by->kept.remove(object);
  object.kept_by = share;
  if (share != nullptr) share->kept.push_back(object);
}

void Visit::end_if_over(Object& object) {
  if (!object.borrows.empty()) return;
  if (object.dropped) {
    ++shard_.evictions;
    end(object);
  } else if (object.lifetime_over && !object.pinned_by_user) {
    ++shard_.expired;
    end(object);
  }
}

void Visit::reschedule(Object& object) {
  const Time own = object.presence == Presence::promised ? object.promised_until : object.lease_end;
  shard_.times.set(object, std::min(own, object.offer_until));
}

bool Visit::act(Object& object, Time now) {
  if (object.at > now) return true;
  if (object.offer_until <= now) {
    object.offer = 0;
    object.offer_until = kNever;
  }
  if (object.presence == Presence::promised && object.promised_until <= now) {
    break_promise(object, refuse_late_promise(object.id).value(), object.promised_until);
  }
  if (object.lease_end > now) {
    reschedule(object);
    return true;
  }
  object.lease_end = kNever;
  object.lifetime_over = true;
  reschedule(object);
  const bool stays = !object.borrows.empty() || object.pinned_by_user;
  end_if_over(object);
  return stays;
}

bool Visit::act_on_due(Time now) {
  for (std::size_t done = 0; done < kBatch; ++done) {
    Object* object = shard_.times.due(now);
    if (object == nullptr) return false;
    act(*object, now);
  }
  return true;
}

}  // namespace godwit::ref
