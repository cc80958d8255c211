#include "ref/home/reservations.hpp"

#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "ref/home/shard.hpp"

namespace godwit::ref {

Result<std::uint64_t> Reservations::add(Holder holder, std::uint64_t life, const Extent& extent,
                                        std::uint64_t size, const Elsewhere& elsewhere) {
  const std::lock_guard lock(mutex_);
  if (rooms_.size() >= kMaxReservations) {
    return fail(ErrorCode::overload,
                "no room for holder {} to write {} bytes: {} reservations are open; commit or "
                "abandon some first",
                to_hex(holder.node.value), size, rooms_.size());
  }
  const std::uint64_t ticket = ++tickets_;
  Room& room = rooms_[ticket];
  room.ticket = ticket;
  room.holder = holder;
  room.life = life;
  room.extent = extent;
  room.elsewhere = elsewhere;
  room.size = size;
  holders_[holder.node].push_back(room);
  return ticket;
}

Result<Reservations::Room*> Reservations::find(Holder holder, std::uint64_t ticket) {
  const auto place = rooms_.find(ticket);
  if (place == rooms_.end() || place->second.holder != holder || place->second.over) {
    return fail(ErrorCode::not_found,
                "holder {} has no reservation {}: it was used, abandoned or ended with a life of "
                "its holder; reserve anew",
                to_hex(holder.node.value), ticket);
  }
  return &place->second;
}

Result<Reservations::Room*> Reservations::enter(Holder holder, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  GODWIT_TRY(Room * room, find(holder, ticket));
  if (room->claimed) {
    return fail(ErrorCode::would_block,
                "reservation {} of holder {} is becoming an object, and is not written any more: "
                "commit after the last write",
                ticket, to_hex(holder.node.value));
  }
  ++room->users;
  return room;
}

Result<Reservations::Room*> Reservations::claim(Holder holder, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  GODWIT_TRY(Room * room, find(holder, ticket));
  if (room->users != 0) {
    return fail(ErrorCode::would_block,
                "reservation {} of holder {} is being {}: try again when that is done", ticket,
                to_hex(holder.node.value), room->claimed ? "made an object" : "written");
  }
  room->users = 1;
  room->claimed = true;
  return room;
}

Place Reservations::leave(Room& room) {
  const std::lock_guard lock(mutex_);
  --room.users;
  room.claimed = false;
  if (!room.over || room.users != 0) return {};
  const Place place{room.extent, room.elsewhere};
  forget(room);
  return place;
}

void Reservations::consume(Room& room) {
  const std::lock_guard lock(mutex_);
  if (!room.over) unlist(room);
  forget(room);
}

Place Reservations::abandon(Holder holder, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto room = find(holder, ticket);
  if (!room) return {};
  unlist(**room);
  return end(**room);
}

std::vector<Place> Reservations::end(const Holders::Life& life) {
  const std::lock_guard lock(mutex_);
  std::vector<Place> places;
  const auto rooms = holders_.find(life.node);
  if (rooms == holders_.end()) return places;
  rooms->second.for_each([&](Room& room) {
    if (room.life > life.number) return;
    rooms->second.remove(room);
    if (const Place place = end(room)) places.push_back(place);
  });
  if (rooms->second.empty()) holders_.erase(rooms);
  return places;
}

Place Reservations::end(Room& room) {
  room.over = true;
  if (room.users != 0) return {};
  const Place place{room.extent, room.elsewhere};
  forget(room);
  return place;
}

void Reservations::unlist(Room& room) {
  const auto rooms = holders_.find(room.holder.node);
  rooms->second.remove(room);
  if (rooms->second.empty()) holders_.erase(rooms);
}

void Reservations::forget(Room& room) {
  rooms_.erase(room.ticket);
}

std::size_t Reservations::size() const {
  const std::lock_guard lock(mutex_);
  return rooms_.size();
}

Result<Claim> Claim::create(StoreState& state, Holder holder, std::uint64_t ticket) {
  GODWIT_TRY(Reservations::Room * room, state.reservations.claim(holder, ticket));
  return Claim(state, room, {room->extent, room->elsewhere}, room->size);
}

Result<Claim> Claim::copy(StoreState& state, Holder holder, std::span<const Bytes> parts,
                          Arena::Wait wait) {
  GODWIT_TRY(const Holders::Admission admission, state.holders.admit(holder));
  if (admission.ended) state.end_life(*admission.ended);
  Place place;
  const std::uint64_t size = total_size(parts);
  if (size != 0) {
    GODWIT_TRY(place.extent, state.allocate(size, wait));
    gather(parts, place.extent.data);
  }
  return Claim(state, nullptr, place, size);
}

Claim::~Claim() {
  if (!is_open_) return;
  state_.free(room_ != nullptr ? state_.reservations.leave(*room_) : place_);
}

void Claim::done() {
  is_open_ = false;
  if (room_ != nullptr) state_.reservations.consume(*room_);
}

Status Claim::check(const ObjectId* object, Arena::Wait wait) const {
  const Elsewhere& where = place_.elsewhere;
  if (!where) return {};
  if (where.next != (object != nullptr) || (object != nullptr && where.object != *object)) {
    return fail(ErrorCode::invalid_argument, "reservation {} is for another object", room_->ticket);
  }
  if (wait == Arena::Wait::no) {
    return fail(ErrorCode::would_block, "it takes a worker to look into a channel");
  }
  return state_.options.channels->check(where, size_);
}

}  // namespace godwit::ref
