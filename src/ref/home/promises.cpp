// Objects that are not there yet, and those that wait for objects.
#include <algorithm>
#include <utility>

#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {

Result<Handle> ObjectStore::promise(Holder producer, const NewObject& object, Duration at_most) {
  // Nothing is written before it comes.
  GODWIT_CHECK(check_new(object, state_->options, Arena::Wait::yes));
  if (at_most < Duration{}) {
    return fail(ErrorCode::invalid_argument,
                "a promise for {} ns is broken before it is made: allow more time, or 0 for no "
                "limit",
                at_most.count());
  }
  return state_->add(producer, state_->new_id(), object, {}, {.promised = at_most});
}

Status ObjectStore::take_over(Holder producer, const Handle& handle) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(HolderShare * share, visit.admit(producer));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence != Presence::promised) return refuse_settled(handle, *object);
  visit.set_producer(*object, share);
  return {};
}

Status ObjectStore::break_promise(const Handle& handle, Error why) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence != Presence::promised) return refuse_settled(handle, *object);
  visit.break_promise(*object, std::move(why), state_->clock.now());
  return {};
}

Result<bool> ObjectStore::wait(const Handle& handle, std::uint64_t newer_than,
                               std::uint64_t waiter) {
  GODWIT_CHECK(state_->check(handle, Rights::read));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence == Presence::broken) return true;
  if (object->presence == Presence::there && object->newest.number > newer_than) return true;
  GODWIT_CHECK(
      state_->waiters.add(object->id, std::min(newer_than, Visit::kEverything - 1), waiter));
  object->awaited = true;
  return false;
}

void ObjectStore::stop_waiting(std::uint64_t waiter) {
  state_->waiters.remove(waiter);
}

void Visit::set_producer(Object& object, HolderShare* share) {
  if (object.promised_by != nullptr) object.promised_by->promised.remove(object);
  object.promised_by = share;
  if (share != nullptr) share->promised.push_back(object);
}

// Whoever asks is told why, for some time, even if the object would have ended with its producer.
void Visit::break_promise(Object& object, Error why, Time now) {
  set_producer(object, nullptr);
  set_owner(object, nullptr);
  object.presence = Presence::broken;
  object.broken = std::make_unique<Error>(std::move(why));
  object.pinned_by_user = false;
  set_lifetime(object, {.kind = LifetimeKind::lease, .lease = state_.options.broken_kept}, nullptr,
               now);
  tell(object, kEverything);
}

}  // namespace godwit::ref
