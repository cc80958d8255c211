// Publishing what a reservation holds, or bytes: the next version of an object, or one that was
// promised.
#include <algorithm>
#include <array>
#include <utility>

#include "ref/disk/object_folder.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {
namespace {

Version next_of(const Object& object, const Claim& claim) {
  const bool first = object.presence == Presence::promised;
  const std::uint64_t after = std::max(object.newest.number, object.reserved) + 1;
  Version next{.number = first ? object.newest.number : after,
               .size = claim.size(),
               .extent = claim.extent()};
  if (claim.elsewhere()) {
    next.number = claim.elsewhere().version;
    next.channel = claim.elsewhere().channel;
  }
  return next;
}

// What was there of it goes again, before another thread may write a file of the same name.
Error undo(StoreState& state, const Handle& handle, const ObjectRecord& record, Error why) {
  state.remove_files(std::array{ObjectFileName::of(record.handle)}, Arena::Wait::yes);
  Visit visit(state, state.shard_of(handle.object));
  const auto object = visit.find(handle);
  visit.end_filing(object ? *object : nullptr);
  return why;
}

// `may` says whether it may be published, now; `become` makes the object ready for that. Of a
// persistent object a file is written in between, and it is asked again.
template <class May, class Become>
Result<Handle> publish_next(StoreState& state, const Handle& handle, Claim& claim, Arena::Wait wait,
                            const May& may, const Become& become) {
  Shard& shard = state.shard_of(handle.object);
  const auto publish = [&](Visit& visit, Object& object, const Version& next) {
    become(visit, object);
    visit.publish(object, next);
    claim.done();
    return state.sign(object, object.newest, handle.rights);
  };
  Version next;
  ObjectRecord record;
  for (bool begun = false; !begun;) {
    std::uint64_t moves = 0;
    {
      Visit visit(state, shard, wait);
      GODWIT_TRY(Object * object, visit.find(handle));
      GODWIT_CHECK(may(*object));
      next = next_of(*object, claim);
      if (!object->persistent) return publish(visit, *object, next);
      if (wait == Arena::Wait::no) return refuse_without_wait(handle);
      moves = shard.moves;
      begun = !std::exchange(object->filing, true);
      if (begun) record = state.record_of(*object, next);
    }
    if (!begun) state.wait_for_move(shard, moves);
  }
  const Status written =
      state.options.folder->write(record, {next.extent.data, static_cast<std::size_t>(next.size)});
  if (!written) return tl::unexpected(undo(state, handle, record, written.error()));
  next.file = true;
  Error refused;
  {
    Visit visit(state, shard, wait);
    const auto object = visit.find(handle);
    const Status allowed = object ? Status(may(**object)) : Status(tl::unexpected(object.error()));
    if (allowed) {
      visit.end_filing(*object);
      return publish(visit, **object, next);
    }
    refused = allowed.error();
  }
  return tl::unexpected(undo(state, handle, record, std::move(refused)));
}

// Two hands of one process are two writers: it must not change with one what the other has
// borrowed.
Status may_update(const Handle& handle, Object& object, const ObjectStore::Writer& writer) {
  if (object.presence == Presence::promised) return refuse_promised(handle);
  if (object.presence == Presence::broken) return tl::unexpected(*object.broken);
  if (handle.version != object.newest.number) return refuse_stale(handle, object.newest.number);
  bool has_borrow = false;
  bool others = false;
  object.borrows.for_each([&](const Borrow& borrow) {
    const bool its_own = borrow.number == writer.borrow && borrow.holder->holder == writer.holder &&
                         borrow.kind == ObjectStore::BorrowKind::write;
    (its_own ? has_borrow : others) = true;
  });
  if (others) return refuse_borrowed(handle, object, "update");
  if (writer.borrow != 0 && !has_borrow) return refuse_ended_borrow(handle);
  const bool owns = object.owner == nullptr || object.owner->holder == writer.holder;
  if (!owns && !has_borrow) return refuse_not_owner(handle, object, writer.holder, "update");
  if (object.older.size() >= ObjectStore::kMaxOlderVersions) {
    return refuse_more(handle, "older versions", ObjectStore::kMaxOlderVersions);
  }
  return {};
}

Result<Handle> update_by(StoreState& state, const ObjectStore::Writer& writer, const Handle& handle,
                         Claim& claim, Arena::Wait wait) {
  return publish_next(
      state, handle, claim, wait,
      [&](Object& object) -> Status {
        GODWIT_CHECK(may_update(handle, object, writer));
        const bool late = claim.elsewhere() && claim.elsewhere().version <= object.newest.number;
        if (late) return refuse_stale(handle, object.newest.number);
        return {};
      },
      [](Visit& /*visit*/, Object& /*object*/) {});
}

Result<Handle> fulfil_by(StoreState& state, const Handle& handle, Claim& claim, Arena::Wait wait) {
  return publish_next(
      state, handle, claim, wait,
      [&](Object& object) -> Status {
        if (object.presence != Presence::promised) return refuse_settled(handle, object);
        return {};
      },
      [&](Visit& visit, Object& object) {
        visit.set_producer(object, nullptr);
        object.presence = Presence::there;
        if (object.lifetime == LifetimeKind::lease) {
          object.lease_end = after(state.clock.now(), object.lease);
        }
        visit.reschedule(object);
      });
}

}  // namespace

Result<Handle> ObjectStore::update(Writer writer, const Handle& handle, std::uint64_t ticket,
                                   Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  GODWIT_TRY(Claim claim, Claim::create(*state_, writer.holder, ticket));
  GODWIT_CHECK(claim.check(&handle.object, wait));
  return update_by(*state_, writer, handle, claim, wait);
}

Result<Handle> ObjectStore::update(Writer writer, const Handle& handle,
                                   std::span<const Bytes> parts, Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  GODWIT_TRY(Claim claim, Claim::copy(*state_, writer.holder, parts, wait));
  return update_by(*state_, writer, handle, claim, wait);
}

Result<Handle> ObjectStore::fulfil(Holder producer, const Handle& handle, std::uint64_t ticket,
                                   Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  GODWIT_TRY(Claim claim, Claim::create(*state_, producer, ticket));
  GODWIT_CHECK(claim.check(&handle.object, wait));
  return fulfil_by(*state_, handle, claim, wait);
}

Result<Handle> ObjectStore::fulfil(Holder producer, const Handle& handle,
                                   std::span<const Bytes> parts, Arena::Wait wait) {
  GODWIT_CHECK(state_->check(handle, Rights::write));
  GODWIT_TRY(Claim claim, Claim::copy(*state_, producer, parts, wait));
  return fulfil_by(*state_, handle, claim, wait);
}

}  // namespace godwit::ref
