#include "ref/home/shard.hpp"

#include <sodium.h>

#include <cstring>
#include <utility>

#include "base/random.hpp"
#include "ref/home/currency.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {

Shard::Shard(unsigned number) : pins(number), borrows(number), number_(number) {
  randombytes_buf(seeds_.data(), sizeof seeds_);
}

// Asking the system for randomness costs more than the rest of a put. Ids need not be hard to
// guess, since handles are signed: they must only be different everywhere.
ObjectId Shard::new_id() noexcept {
  const std::uint64_t count = ids_.fetch_add(1, std::memory_order_relaxed);
  const std::array<std::uint64_t, 2> words{mix64(seeds_[0] + count), mix64(seeds_[1] + count)};
  ObjectId id;
  static_assert(sizeof id.bytes == sizeof words);
  std::memcpy(id.bytes.data(), words.data(), sizeof words);
  id.bytes.back() =
      static_cast<std::uint8_t>((id.bytes.back() & ~(StoreState::kShards - 1)) | number_);
  return id;
}

StoreState::StoreState(const Clock& clock_of_all, ObjectStore::Options wanted)
    : clock(clock_of_all),
      options(std::move(wanted)),
      arena(options.arena),
      holders(clock, {.lease = options.holder_lease,
                      .lost_grace = options.lost_grace,
                      .max_holders = options.max_holders,
                      .is_linked = options.is_linked}),
      reservations(options.last_ticket) {
  for (unsigned i = 0; i < kShards; ++i) shards.emplace_back(i);
}

Shard& StoreState::shard_for_new() noexcept {
  static std::atomic<unsigned> threads{0};
  thread_local unsigned next = threads.fetch_add(1, std::memory_order_relaxed) * kThreadStride;
  return shards[next++ / kInARow % kShards];
}

Status StoreState::check(const Handle& handle, Rights needed) const {
  if (handle.format == Handle::kFormat && handle.home != options.home.value) {
    return refuse_elsewhere(handle, options.home);
  }
  GODWIT_CHECK(options.key.verify(handle));
  if (!includes(handle.rights, needed)) return refuse_right(handle, needed);
  return {};
}

Handle StoreState::sign(const Object& object, const Version& version, Rights rights) const {
  Handle handle;
  handle.rights = rights;
  handle.object = object.id;
  handle.version = version.number;
  handle.size = object.presence == Presence::there ? version.size : Handle::kSizeUnknown;
  handle.type = object.type;
  handle.home = options.home.value;
  options.key.sign(handle);
  return handle;
}

Result<Handle> StoreState::add(Holder holder, const ObjectId& id, const NewObject& wanted,
                               const Version& version, const Addition& how) {
  const bool vouches = how.voucher != nullptr && options.currency != nullptr;
  if (vouches) options.currency->fetch_ahead(id);
  if (objects.fetch_add(1, std::memory_order_relaxed) >= options.max_objects) {
    objects.fetch_sub(1, std::memory_order_relaxed);
    return refuse_another_object(options.home, options.max_objects);
  }
  Shard& shard = shard_of(id);
  const Time now = clock.now();
  Visit visit(*this, shard);
  HolderShare* share = nullptr;
  if (how.promised || wanted.owned || wanted.lifetime.kind == LifetimeKind::holder) {
    const auto admitted = visit.admit(holder);
    if (!admitted) {
      objects.fetch_sub(1, std::memory_order_relaxed);
      return tl::unexpected(admitted.error());
    }
    share = *admitted;
  }
  Object& object = shard.live[id];
  object.id = id;
  object.type = wanted.type;
  object.created = now;
  object.newest = version;
  object.persistent = wanted.persist;
  object.channel = version.channel != 0 ? version.channel : wanted.channel;
  object.reserved = version.channel != 0 ? version.number : 0;
  if (how.promised) {
    object.presence = Presence::promised;
    object.promised_until = *how.promised == Duration{} ? kNever : after(now, *how.promised);
    visit.set_producer(object, share);
  }
  visit.set_lifetime(object, wanted.lifetime, share, now);
  if (wanted.owned) visit.set_owner(object, share);
  visit.settle(object);
  ++shard.puts;
  const Handle handle = sign(object, object.newest, Rights::all);
  if (vouches) *how.voucher = visit.vouch_for(handle, object);
  return handle;
}

void StoreState::end_life(const Holders::Life& life) {
  holders_lost.fetch_add(1, std::memory_order_relaxed);
  for (Shard& shard : shards) {
    while (Visit(*this, shard).let_go(life)) {
    }
  }
  for (const Place& place : reservations.end(life)) free(place);
}

void StoreState::free(const Place& place) {
  if (place.extent) arena.free(place.extent, Arena::Wait::no);
  if (place.elsewhere) options.channels->remove(place.elsewhere);
}

}  // namespace godwit::ref
