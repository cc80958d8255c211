// Who owns objects, and who has borrowed them.
#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {
namespace {

bool is_owner(const Object& object, Holder holder) {
  return object.owner != nullptr && object.owner->holder == holder;
}

}  // namespace

Status ObjectStore::own(Holder holder, const Handle& handle) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(HolderShare * share, visit.admit(holder));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->dropped) return refuse_dropped(handle);
  if (is_owner(*object, holder)) return {};
  if (object->owner != nullptr) return refuse_owned(handle, object->owner->holder);
  visit.set_owner(*object, share);
  return {};
}

Status ObjectStore::disown(Holder holder, const Handle& handle) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (!is_owner(*object, holder)) return refuse_not_owner(handle, *object, holder, "disown");
  visit.set_owner(*object, nullptr);
  return {};
}

Result<std::uint64_t> ObjectStore::offer(Holder owner, const Handle& handle, Duration lease) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (!is_owner(*object, owner)) return refuse_not_owner(handle, *object, owner, "offer");
  object->offer = state_->offers.fetch_add(1, std::memory_order_relaxed) + 1;
  object->offer_until = after(state_->clock.now(), lease);
  visit.reschedule(*object);
  return object->offer;
}

Status ObjectStore::accept(Holder receiver, const Handle& handle, std::uint64_t offer) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(HolderShare * share, visit.admit(receiver));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (offer == 0 || object->offer != offer) return refuse_offer(handle, receiver);
  visit.set_owner(*object, share);
  return {};
}

Result<std::uint64_t> ObjectStore::borrow(Holder holder, const Handle& handle, BorrowKind kind) {
  const bool writes = kind == BorrowKind::write;
  GODWIT_CHECK(state_->check(handle, writes ? Rights::write : Rights::read));
  Shard& shard = state_->shard_of(handle.object);
  Visit visit(*state_, shard);
  GODWIT_TRY(HolderShare * share, visit.admit(holder));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence == Presence::promised) return refuse_promised(handle);
  if (object->presence == Presence::broken) return tl::unexpected(*object->broken);
  if (object->dropped) return refuse_dropped(handle);
  if (object->borrowed_for_writing() || (writes && !object->borrows.empty())) {
    return refuse_borrowed(handle, *object, "borrow");
  }
  Borrow* borrow = shard.borrows.add();
  if (borrow == nullptr) return refuse_more(handle, "borrows", Numbered<Borrow>::kMax);
  borrow->object = object;
  borrow->holder = share;
  borrow->kind = kind;
  object->borrows.push_back(*borrow);
  share->borrows.push_back(*borrow);
  return borrow->number;
}

void ObjectStore::give_back(Holder holder, std::uint64_t number) {
  Shard& shard = state_->shard_of(number);
  Visit visit(*state_, shard);
  Borrow* borrow = shard.borrows.find(number);
  if (borrow != nullptr && borrow->holder->holder == holder) visit.end_borrow(*borrow);
}

Status ObjectStore::drop(Holder owner, const Handle& handle) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (!is_owner(*object, owner)) return refuse_not_owner(handle, *object, owner, "drop");
  visit.drop(*object);
  return {};
}

// An offer is its owner's, and ends with that.
void Visit::set_owner(Object& object, HolderShare* share) {
  if (object.owner != nullptr) object.owner->owned.remove(object);
  object.owner = share;
  if (share != nullptr) share->owned.push_back(object);
  if (object.offer == 0) return;
  object.offer = 0;
  object.offer_until = kNever;
  reschedule(object);
}

void Visit::end_borrow(Borrow& borrow) {
  Object& object = *borrow.object;
  borrow.holder->borrows.remove(borrow);
  object.borrows.remove(borrow);
  shard_.borrows.remove(borrow);
  end_if_over(object);
}

void Visit::drop(Object& object) {
  set_owner(object, nullptr);
  object.dropped = true;
  end_if_over(object);
}

}  // namespace godwit::ref
