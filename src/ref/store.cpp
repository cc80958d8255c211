#include "ref/store.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "ref/refusals.hpp"
#include "ref/visit.hpp"

namespace godwit::ref {
namespace {

Located located(const Pin& pin, const Version& version) {
  return {.pin = pin.number,
          .version = version.number,
          .size = version.size,
          .type = pin.object->type,
          .segment = version.extent.segment,
          .offset = version.extent.offset,
          .data = version.extent.data};
}

}  // namespace

ObjectStore::ObjectStore(const Clock& clock, Options options)
    : state_(std::make_unique<StoreState>(clock, std::move(options))) {}

ObjectStore::~ObjectStore() = default;

Arena& ObjectStore::arena() noexcept {
  return state_->arena;
}

Result<Handle> ObjectStore::put(Holder holder, const NewObject& object,
                                std::span<const Bytes> parts, Arena::Wait wait) {
  GODWIT_CHECK(check_new(object));
  Version version;
  for (const Bytes part : parts) version.size += part.size();
  if (version.size != 0) {
    GODWIT_TRY(version.extent, state_->arena.allocate(version.size, wait));
    std::byte* to = version.extent.data;
    for (const Bytes part : parts) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
  }
  auto handle = state_->add(holder, object, version);
  if (!handle && version.extent) state_->arena.free(version.extent, Arena::Wait::no);
  return handle;
}

Result<Located> ObjectStore::locate(Holder holder, const Handle& handle, Arena::Wait /*wait*/) {
  GODWIT_CHECK(state_->check(handle, Rights::read));
  Shard& shard = state_->shard_of(handle.object);
  Visit visit(*state_, shard);
  GODWIT_TRY(HolderShare * share, visit.admit(holder));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence == Presence::promised) return refuse_promised(handle);
  if (object->presence == Presence::broken) return tl::unexpected(*object->broken);
  Version* version = Visit::version_of(*object, handle.version);
  if (version == nullptr) return refuse_stale(handle, object->newest.number);
  const Pin* pin = visit.pin(*share, *object, *version);
  if (pin == nullptr) return refuse_more(handle, "pins", Numbered<Pin>::kMax);
  ++object->reads;
  ++shard.resolves;
  return located(*pin, *version);
}

Result<Located> ObjectStore::locate_again(Holder holder, const Handle& handle,
                                          std::uint64_t number) {
  GODWIT_CHECK(state_->check(handle, Rights::read));
  Shard& shard = state_->shard_of(handle.object);
  Visit visit(*state_, shard);
  const Pin* first = shard.pins.find(number);
  // A handle of the promise, or of an older version that was waited on, leads to the same object.
  if (first == nullptr || first->holder->holder != holder || first->object->id != handle.object) {
    return refuse_pin(handle, holder);
  }
  Version& version = *Visit::version_of(*first->object, first->version);
  Pin* pin = visit.pin(*first->holder, *first->object, version);
  if (pin == nullptr) return refuse_more(handle, "pins", Numbered<Pin>::kMax);
  pin->again = true;
  return located(*pin, version);
}

void ObjectStore::release(Holder holder, std::uint64_t number) {
  Shard& shard = state_->shard_of(number);
  Visit visit(*state_, shard);
  Pin* pin = shard.pins.find(number);
  if (pin == nullptr || pin->holder->holder != holder) return;
  visit.unpin(*pin, Visit::Reading::complete);
}

Status ObjectStore::evict(const Handle& handle) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Shard& shard = state_->shard_of(handle.object);
  Visit visit(*state_, shard);
  const auto object = visit.find(handle);
  if (!object) return {};
  if (!(*object)->borrows.empty()) return refuse_borrowed(handle, **object, "evict");
  ++shard.evictions;
  visit.end(**object);
  return {};
}

Result<Handle> ObjectStore::newest(const Handle& handle) const {
  GODWIT_CHECK(state_->check(handle, Rights::none));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(const Object* object, visit.find(handle));
  return state_->sign(*object, object->newest, handle.rights);
}

bool ObjectStore::exists(const Handle& handle) const {
  if (!state_->check(handle, Rights::none)) return false;
  Visit visit(*state_, state_->shard_of(handle.object));
  const auto object = visit.find(handle);
  return object && (*object)->presence != Presence::broken &&
         Visit::version_of(**object, handle.version) != nullptr;
}

Result<Handle> ObjectStore::restrict(const Handle& handle, Rights rights) const {
  GODWIT_CHECK(state_->check(handle, Rights::delegate));
  if (!includes(handle.rights, rights)) return refuse_right(handle, rights);
  Handle restricted = handle;
  restricted.rights = rights;
  state_->options.key.sign(restricted);
  return restricted;
}

// --- In two steps ---

Result<Reservation> ObjectStore::reserve(Holder holder, std::uint64_t size, Arena::Wait wait) {
  GODWIT_TRY(const Holders::Admission admission, state_->holders.admit(holder));
  if (admission.ended) state_->end_life(*admission.ended);
  Extent extent;
  if (size != 0) {
    GODWIT_TRY(extent, state_->arena.allocate(size, wait));
  }
  const auto ticket = state_->reservations.add(holder, admission.life, extent, size);
  if (!ticket) {
    if (extent) state_->arena.free(extent, Arena::Wait::no);
    return tl::unexpected(ticket.error());
  }
  return Reservation{
      .ticket = *ticket, .segment = extent.segment, .offset = extent.offset, .size = size};
}

Status ObjectStore::write(Holder holder, std::uint64_t ticket, std::uint64_t offset, Bytes bytes) {
  GODWIT_TRY(Reservations::Room * room, state_->reservations.enter(holder, ticket));
  const std::uint64_t size = room->size;
  const bool fits = offset <= size && bytes.size() <= size - offset;
  if (fits && !bytes.empty()) {
    std::memcpy(room->extent.data + offset, bytes.data(), bytes.size());
  }
  if (const Extent extent = state_->reservations.leave(*room))
    state_->arena.free(extent, Arena::Wait::no);
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              "holder {} cannot write {} bytes at {} of reservation {}, which has {}: reserve what "
              "the object needs",
              to_hex(holder.node.value), bytes.size(), offset, ticket, size);
}

Result<Handle> ObjectStore::commit(Holder holder, std::uint64_t ticket, const NewObject& object) {
  GODWIT_CHECK(check_new(object));
  GODWIT_TRY(Claim claim, Claim::create(state_->reservations, state_->arena, holder, ticket));
  const Version version{.size = claim.size(), .extent = claim.extent()};
  GODWIT_TRY(const Handle handle, state_->add(holder, object, version));
  claim.done();
  return handle;
}

void ObjectStore::abandon(Holder holder, std::uint64_t ticket) {
  if (const Extent extent = state_->reservations.abandon(holder, ticket)) {
    state_->arena.free(extent, Arena::Wait::no);
  }
}

Result<Handle> ObjectStore::update(Holder holder, const Handle& handle, std::uint64_t ticket) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  GODWIT_TRY(Claim claim, Claim::create(state_->reservations, state_->arena, holder, ticket));
  Visit visit(*state_, state_->shard_of(handle.object));
  GODWIT_TRY(Object * object, visit.find(handle));
  if (object->presence == Presence::promised) return refuse_promised(handle);
  if (object->presence == Presence::broken) return tl::unexpected(*object->broken);
  if (handle.version != object->newest.number) {
    return refuse_stale(handle, object->newest.number);
  }
  bool writes = object->owner == nullptr || object->owner->holder == holder;
  bool others = false;
  object->borrows.for_each([&](const Borrow& borrow) {
    const bool mine = borrow.holder->holder == holder;
    // A process must not change with one hand what it reads with the other.
    const bool its_write = mine && borrow.kind == BorrowKind::write;
    writes |= its_write;
    others |= !its_write;
  });
  if (others) return refuse_borrowed(handle, *object, "update");
  if (!writes) return refuse_not_owner(handle, *object, holder, "update");
  if (object->older.size() >= kMaxOlderVersions) {
    return refuse_more(handle, "older versions", kMaxOlderVersions);
  }
  visit.publish(
      *object,
      {.number = object->newest.number + 1, .size = claim.size(), .extent = claim.extent()});
  claim.done();
  return state_->sign(*object, object->newest, handle.rights);
}

}  // namespace godwit::ref
