#include "ref/home/visit.hpp"

#include <utility>

#include "base/fail.hpp"
#include "ref/home/currency.hpp"
#include "ref/home/handle_key.hpp"
#include "ref/home/refusals.hpp"

namespace godwit::ref {
namespace {

Located located(const Pin& pin, const Version& version) {
  return {.pin = pin.number,
          .version = version.number,
          .size = version.size,
          .type = pin.object->type,
          .segment = version.extent.segment,
          .offset = version.extent.offset,
          .data = version.extent.data,
          .channel = version.channel};
}

}  // namespace

Result<Located> Visit::pin_again(const Handle& handle, const Pin& first) {
  Version& version = *version_of(*first.object, first.version);
  Pin* made = pin(*first.holder, *first.object, version);
  if (made == nullptr) return refuse_more(handle, "pins", Numbered<Pin>::kMax);
  made->again = true;
  return located(*made, version);
}

Visit::~Visit() {
  lock_.unlock();
  if (freed_) state_.arena.free(freed_, Arena::Wait::no);
  for (const Extent& extent : freed_more_) state_.arena.free(extent, Arena::Wait::no);
  if (!removed_.empty()) state_.remove_files(removed_, wait_);
  for (const Elsewhere& what : removed_elsewhere_) state_.options.channels->remove(what);
  if (superseded_) state_.end_life(*superseded_);
  for (const std::uint64_t waiter : ready_) {
    if (state_.options.on_ready) state_.options.on_ready(waiter);
  }
}

Result<HolderShare*> Visit::admit(Holder holder) {
  const auto place = shard_.shares.find(holder.node);
  if (place != shard_.shares.end() && place->second.holder == holder) return &place->second;
  GODWIT_TRY(const Holders::Admission admission, state_.holders.admit(holder));
  if (admission.ended) superseded_ = admission.ended;
  HolderShare& share = shard_.shares[holder.node];
  let_go(share, SIZE_MAX);
  share.holder = holder;
  share.life = admission.life;
  return &share;
}

Result<Object*> Visit::find(const Handle& handle) {
  const auto place = shard_.live.find(handle.object);
  if (place != shard_.live.end()) {
    Object& object = place->second;
    // Most objects have no times, and are found without a look at the clock.
    if (object.at == kNever || act(object, state_.clock.now())) return &object;
  }
  return refuse_gone(handle);
}

Version* Visit::version_of(Object& object, std::uint64_t number) noexcept {
  if (object.newest.number == number) return &object.newest;
  const auto older = object.older.find(number);
  return older == object.older.end() ? nullptr : &older->second;
}

void Visit::note_absence(Object& object, Version& version, Absence& absence) {
  absence.any = true;
  absence.moves = shard_.moves;
  if (!version.moving) absence.mine = begin_move(object, version);
}

Result<Located> Visit::located_by(const Handle& handle, const Pin& pin, Absence& absence) {
  Version& version = *version_of(*pin.object, pin.version);
  if (version.in_memory()) return located(pin, version);
  // Told at once where an earlier attempt found that it is lost.
  if (pin.object->presence == Presence::broken) return tl::unexpected(*pin.object->broken);
  note_absence(*pin.object, version, absence);
  return refuse_on_disk(handle);
}

Result<Located> Visit::locate(Holder holder, const Handle& handle, Absence* absence,
                              ObjectStore::From from) {
  GODWIT_TRY(HolderShare * share, admit(holder));
  GODWIT_TRY(Object * object, find(handle));
  if (object->presence == Presence::promised) return refuse_promised(handle);
  if (object->presence == Presence::broken) return tl::unexpected(*object->broken);
  Version* version = version_of(*object, handle.version);
  if (version == nullptr) return refuse_stale(handle, object->newest.number);
  const bool as_it_is = from == ObjectStore::From::anywhere && version->channel != 0;
  if (!version->in_memory() && !as_it_is) [[unlikely]] {
    if (absence != nullptr) note_absence(*object, *version, *absence);
    return refuse_on_disk(handle);
  }
  const Pin* made = pin(*share, *object, *version);
  if (made == nullptr) return refuse_more(handle, "pins", Numbered<Pin>::kMax);
  ++object->reads;
  ++shard_.resolves;
  return located(*made, *version);
}

void Visit::recall(Object& object) {
  if (const std::uint64_t ticket = std::exchange(object.voucher, 0); ticket != 0) {
    state_.options.currency->end(ticket);
  }
}

Voucher Visit::vouch_for(const Handle& handle, Object& object) {
  if (object.presence != Presence::there || object.lifetime == LifetimeKind::readers ||
      object.newest.number != handle.version) {
    return {};
  }
  if (object.voucher == 0) object.voucher = state_.options.currency->issue();
  Voucher voucher{.ticket = object.voucher, .time_left = std::nullopt};
  if (object.lease_end != kNever) {
    voucher.time_left = object.lease_end - state_.clock.now();
  } else {
    show(handle, object);
  }
  return voucher;
}

// What has no bytes here, or a time after which nobody may have it, is asked for.
void Visit::show(const Handle& handle, const Object& object) {
  const Version& newest = object.newest;
  if (object.voucher == 0 || !newest.extent || newest.channel != 0 || newest.size != handle.size ||
      newest.size > Currency::kMaxShownBytes) {
    return;
  }
  state_.options.currency->show(handle.object, {.proof = proof_of(handle),
                                                .segment = newest.extent.segment,
                                                .offset = newest.extent.offset,
                                                .ticket = object.voucher});
}

void Visit::publish(Object& object, const Version& version) {
  recall(object);
  set_idle(object, false);
  remove_file(object, object.newest);
  if (object.newest.pins != 0) {
    object.older.emplace(object.newest.number, object.newest);
  } else {
    free(object, object.newest);
  }
  object.newest = version;
  if (version.channel != 0) object.channel = version.channel;
  settle(object);
  tell(object, version.number);
}

Pin* Visit::pin(HolderShare& share, Object& object, Version& version) {
  Pin* pin = shard_.pins.add();
  if (pin == nullptr) return nullptr;
  pin->object = &object;
  pin->holder = &share;
  pin->version = version.number;
  pin->again = false;
  share.pins.push_back(*pin);
  ++version.pins;
  ++object.pins;
  settle(object);
  return pin;
}

void Visit::unpin(Pin& pin, Reading reading) {
  Object& object = *pin.object;
  Version& version = *version_of(object, pin.version);
  const bool again = pin.again;
  pin.holder->pins.remove(pin);
  shard_.pins.remove(pin);
  if (!unpin(object, version)) return;
  if (object.lifetime == LifetimeKind::readers && reading == Reading::complete && !again &&
      object.readers_left != 0 && --object.readers_left == 0) {
    object.lifetime_over = true;
    end_if_over(object);
  }
}

bool Visit::unpin(Object& object, Version& version) {
  --object.pins;
  if (--version.pins == 0 && (object.ended || &version != &object.newest)) {
    free(object, version);
    if (&version != &object.newest) object.older.erase(version.number);
  }
  if (!object.ended) {
    settle(object);
    return true;
  }
  if (object.pins != 0) return false;
  const ObjectId id = object.id;
  shard_.ended.erase(id);
  state_.objects.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Visit::end(Object& object) {
  recall(object);
  set_owner(object, nullptr);
  set_producer(object, nullptr);
  set_keeper(object, nullptr);
  tell(object, kEverything);
  shard_.times.set(object, kNever);
  set_idle(object, false);
  remove_file(object, object.newest);
  object.ended = true;
  if (object.newest.pins == 0) free(object, object.newest);
  const ObjectId id = object.id;
  if (object.pins != 0) {
    shard_.ended.insert(shard_.live.extract(id));
    return;
  }
  shard_.live.erase(id);
  state_.objects.fetch_sub(1, std::memory_order_relaxed);
}

void Visit::tell(Object& object, std::uint64_t version) {
  if (object.awaited) object.awaited = state_.waiters.take(object.id, version, ready_);
}

void Visit::free(const Extent& extent) {
  if (!extent) return;
  if (!freed_) {
    freed_ = extent;
  } else {
    freed_more_.push_back(extent);
  }
}

void Visit::free(const Object& object, const Version& version) {
  free(version.extent);
  if (version.channel != 0)
    removed_elsewhere_.push_back({version.channel, object.id, version.number});
}

bool Visit::let_go(const Holders::Life& life) {
  const auto place = shard_.shares.find(life.node);
  if (place == shard_.shares.end() || place->second.life > life.number) return false;
  if (let_go(place->second, kBatch) == kBatch) return true;
  shard_.shares.erase(place);
  return false;
}

std::size_t Visit::let_go(HolderShare& share, std::size_t at_most) {
  std::size_t done = 0;
  for (; done < at_most && !share.promised.empty(); ++done) {
    lose(share.promised.front(), share.holder);
  }
  for (; done < at_most && !share.borrows.empty(); ++done) end_borrow(share.borrows.front());
  for (; done < at_most && !share.pins.empty(); ++done) {
    unpin(share.pins.front(), Reading::cut_short);
  }
  for (; done < at_most && !share.owned.empty(); ++done) {
    Object& object = share.owned.front();
    if (object.presence == Presence::promised) {
      lose(object, share.holder);
    } else {
      drop(object);
    }
  }
  for (; done < at_most && !share.kept.empty(); ++done) {
    Object& object = share.kept.front();
    if (object.presence == Presence::promised) {
      lose(object, share.holder);
      continue;
    }
    set_keeper(object, nullptr);
    object.lifetime_over = true;
    end_if_over(object);
  }
  return done;
}

void Visit::lose(Object& object, Holder holder) {
  const Time now = state_.clock.now();
  if (!act(object, now) || object.presence != Presence::promised) return;  // it was late before
  break_promise(object, refuse_lost_producer(object.id, holder.node).value(), now);
}

}  // namespace godwit::ref
