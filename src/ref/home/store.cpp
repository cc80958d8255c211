#include "ref/home/store.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "ref/home/currency.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {

ObjectStore::ObjectStore(const Clock& clock, Options options)
    : state_(std::make_unique<StoreState>(clock, std::move(options))) {
  if (HomeChannels* const all = channels()) {
    all->renew_what([state = state_.get()] { return state->all_elsewhere(); });
  }
}

ObjectStore::~ObjectStore() {
  close_channels();
  if (state_->options.folder == nullptr) return;
  for (Shard& shard : state_->shards) {
    Visit visit(*state_, shard, Arena::Wait::yes);
    for (const auto& [id, object] : shard.live) {
      if (object.newest.file && !object.persistent) visit.remove_file({id, object.newest.number});
    }
  }
  remove_files();
}

Arena& ObjectStore::arena() noexcept {
  return state_->arena;
}

Result<Handle> ObjectStore::put(Holder holder, const NewObject& object,
                                std::span<const Bytes> parts, Arena::Wait wait, Voucher* voucher) {
  GODWIT_CHECK(check_new(object, state_->options, wait));
  Version version;
  version.size = total_size(parts);
  if (version.size != 0) {
    GODWIT_TRY(version.extent, state_->allocate(version.size, wait));
    gather(parts, version.extent.data);
  }
  auto handle = state_->add_new(holder, object, version, voucher);
  if (!handle && version.extent) state_->arena.free(version.extent, Arena::Wait::no);
  return handle;
}

Result<Located> ObjectStore::locate(Holder holder, const Handle& handle, Arena::Wait wait,
                                    From from) {
  GODWIT_CHECK(state_->check(handle, Rights::read));
  Absence absence;
  {
    Visit visit(*state_, state_->shard_of(handle.object));
    auto found = visit.locate(holder, handle, wait == Arena::Wait::yes ? &absence : nullptr, from);
    if (!absence.any) return found;
  }
  return state_->bring_back(handle, absence, [&](Visit& visit, Absence& again) {
    return visit.locate(holder, handle, &again);
  });
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
  return visit.pin_again(handle, *first);
}

Voucher ObjectStore::vouch_for(const Handle& handle) {
  if (state_->options.currency == nullptr || !state_->check(handle, Rights::read)) return {};
  Visit visit(*state_, state_->shard_of(handle.object));
  const auto found = visit.find(handle);
  return found ? visit.vouch_for(handle, **found) : Voucher{};
}

void ObjectStore::release(Holder holder, std::uint64_t number) {
  Shard& shard = state_->shard_of(number);
  Visit visit(*state_, shard);
  Pin* pin = shard.pins.find(number);
  if (pin == nullptr || pin->holder->holder != holder) return;
  visit.unpin(*pin, Visit::Reading::complete);
}

Status ObjectStore::evict(const Handle& handle, Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::evict));
  Shard& shard = state_->shard_of(handle.object);
  for (;;) {
    std::uint64_t moves = 0;
    {
      Visit visit(*state_, shard, wait);
      const auto object = visit.find(handle);
      if (!object) return {};
      if (!(*object)->borrows.empty()) return refuse_borrowed(handle, **object, "evict");
      // It must not come back with the next life of the home, once this is answered.
      if ((*object)->persistent && wait == Arena::Wait::no) return refuse_without_wait(handle);
      if (!(*object)->filing) {
        ++shard.evictions;
        visit.end(**object);
        return {};
      }
      moves = shard.moves;
    }
    state_->wait_for_move(shard, moves);
  }
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
    GODWIT_TRY(extent, state_->allocate(size, wait));
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
  const std::uint64_t size = room->elsewhere ? 0 : room->size;  // that is not written here
  const bool fits = offset <= size && bytes.size() <= size - offset;
  if (fits && !bytes.empty()) {
    std::memcpy(room->extent.data + offset, bytes.data(), bytes.size());
  }
  state_->free(state_->reservations.leave(*room));
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              "holder {} cannot write {} bytes at {} of reservation {}, which has {}: reserve what "
              "the object needs",
              to_hex(holder.node.value), bytes.size(), offset, ticket, size);
}

Result<Handle> ObjectStore::commit(Holder holder, std::uint64_t ticket, const NewObject& object,
                                   Arena::Wait wait) {
  GODWIT_CHECK(check_new(object, state_->options, wait));
  GODWIT_TRY(Claim claim, Claim::create(*state_, holder, ticket));
  if (claim.elsewhere()) {
    GODWIT_CHECK(claim.check(nullptr, wait));
    GODWIT_TRY(const Handle made, state_->add_elsewhere(holder, object, claim));
    claim.done();
    return made;
  }
  const Version version{.size = claim.size(), .extent = claim.extent()};
  GODWIT_TRY(const Handle handle, state_->add_new(holder, object, version));
  claim.done();
  return handle;
}

Result<bool> ObjectStore::use_room(Holder holder, std::uint64_t ticket, const UseRoom& use) {
  GODWIT_TRY(Claim claim, Claim::create(*state_, holder, ticket));
  if (!claim.extent()) {
    return fail(ErrorCode::invalid_argument, "reservation {} has no memory", ticket);
  }
  GODWIT_TRY(const bool kept, use(claim.extent(), claim.size()));
  if (kept) claim.done();
  return kept;
}

void ObjectStore::abandon(Holder holder, std::uint64_t ticket) {
  state_->free(state_->reservations.abandon(holder, ticket));
}

}  // namespace godwit::ref
