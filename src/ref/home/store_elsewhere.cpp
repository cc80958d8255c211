// Objects whose bytes are in a channel: the home lets somebody write them there, fetches them when
// it is asked to, and removes them when they have ended.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/refusals.hpp"
#include "ref/home/store.hpp"
#include "ref/home/visit.hpp"

namespace godwit::ref {
namespace {

// Which version may be written, and where; each one once. Memory, if that is not to be.
Elsewhere next_version(Object& object, std::uint16_t proposed) {
  const std::uint16_t channel = object.channel != 0 ? object.channel : proposed;
  if (channel == 0 || object.persistent || object.presence == Presence::broken) return {};
  const bool promised = object.presence == Presence::promised;
  const std::uint64_t number =
      promised ? object.newest.number : std::max(object.newest.number, object.reserved) + 1;
  if (number <= object.reserved) return {};  // somebody tried to keep this promise before
  object.reserved = number;
  return {channel, object.id, number, true};
}

}  // namespace

HomeChannels* ObjectStore::channels() const noexcept {
  return state_->options.channels.get();
}

Result<ElsewhereReservation> ObjectStore::reserve_elsewhere(Holder holder, std::uint64_t size,
                                                            std::uint16_t channel,
                                                            const Handle* next_of,
                                                            Arena::Wait wait) {
  Elsewhere where{channel, {}, 1};
  if (next_of == nullptr) {
    where.object = state_->new_id();
  } else {
    GODWIT_CHECK(state_->check(*next_of, Rights::write));
    Visit visit(*state_, state_->shard_of(next_of->object));
    GODWIT_TRY(Object * object, visit.find(*next_of));
    where = next_version(*object, channel);
  }
  if (!where) {
    GODWIT_TRY(const Reservation room, reserve(holder, size, wait));
    return ElsewhereReservation{.room = room, .object = {}};
  }
  GODWIT_TRY(const Holders::Admission admission, state_->holders.admit(holder));
  if (admission.ended) state_->end_life(*admission.ended);
  GODWIT_TRY(const std::uint64_t ticket,
             state_->reservations.add(holder, admission.life, {}, size, where));
  return ElsewhereReservation{.room = {.ticket = ticket, .size = size},
                              .channel = where.channel,
                              .object = where.object,
                              .version = where.version};
}

Result<Handle> StoreState::add_elsewhere(Holder holder, const NewObject& wanted,
                                         const Claim& claim) {
  if (wanted.persist) {
    return fail(ErrorCode::unsupported,
                "an object that is to persist is in its home's folder, not in a channel: put it "
                "with one of the two");
  }
  Version version;
  version.number = claim.elsewhere().version;
  version.size = claim.size();
  version.channel = claim.elsewhere().channel;
  return add(holder, claim.elsewhere().object, wanted, version, {});
}

Result<Located> ObjectStore::fetch(Holder holder, const Handle& handle, std::uint64_t number) {
  GODWIT_CHECK(state_->check(handle, Rights::read));
  Shard& shard = state_->shard_of(handle.object);
  const auto look = [&](Visit& visit, Absence& absence) -> Result<Located> {
    const Pin* pin = shard.pins.find(number);
    if (pin == nullptr || pin->holder->holder != holder || pin->object->id != handle.object) {
      return refuse_pin(handle, holder);
    }
    return visit.located_by(handle, *pin, absence);
  };
  Absence absence;
  {
    Visit visit(*state_, shard);
    auto found = look(visit, absence);
    if (!absence.any) return found;
  }
  return state_->bring_back(handle, absence, look);
}

std::vector<Elsewhere> StoreState::all_elsewhere() {
  std::vector<Elsewhere> all;
  for (Shard& shard : shards) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [id, object] : shard.live) {
      const Version& newest = object.newest;
      if (newest.channel != 0) all.push_back({newest.channel, id, newest.number});
    }
  }
  return all;
}

void ObjectStore::close_channels() {
  HomeChannels* const channels = state_->options.channels.get();
  if (channels == nullptr) return;
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    for (auto* objects : {&shard.live, &shard.ended}) {
      for (const auto& [id, object] : *objects) {
        const auto remove = [&, &key = id](const Version& version) {
          if (version.channel != 0) channels->remove({version.channel, key, version.number});
        };
        remove(object.newest);
        for (const auto& [number, version] : object.older) remove(version);
      }
    }
  }
  channels->close();
}

}  // namespace godwit::ref
