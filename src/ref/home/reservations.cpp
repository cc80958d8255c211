#include "ref/home/reservations.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {

Result<std::uint64_t> Reservations::add(Holder holder, std::uint64_t life, const Extent& extent,
                                        std::uint64_t size) {
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

Extent Reservations::leave(Room& room) {
  const std::lock_guard lock(mutex_);
  --room.users;
  room.claimed = false;
  if (!room.over || room.users != 0) return {};
  const Extent extent = room.extent;
  forget(room);
  return extent;
}

void Reservations::consume(Room& room) {
  const std::lock_guard lock(mutex_);
  if (!room.over) unlist(room);
  forget(room);
}

Extent Reservations::abandon(Holder holder, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto room = find(holder, ticket);
  if (!room) return {};
  unlist(**room);
  return end(**room);
}

std::vector<Extent> Reservations::end(const Holders::Life& life) {
  const std::lock_guard lock(mutex_);
  std::vector<Extent> extents;
  const auto rooms = holders_.find(life.node);
  if (rooms == holders_.end()) return extents;
  rooms->second.for_each([&](Room& room) {
    if (room.life > life.number) return;
    rooms->second.remove(room);
    if (const Extent extent = end(room)) extents.push_back(extent);
  });
  if (rooms->second.empty()) holders_.erase(rooms);
  return extents;
}

Extent Reservations::end(Room& room) {
  room.over = true;
  if (room.users != 0) return {};
  const Extent extent = room.extent;
  forget(room);
  return extent;
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

Result<Claim> Claim::create(Reservations& reservations, Arena& arena, Holder holder,
                            std::uint64_t ticket) {
  GODWIT_TRY(Reservations::Room * room, reservations.claim(holder, ticket));
  return Claim(reservations, arena, *room);
}

Claim::~Claim() {
  if (room_ == nullptr) return;
  if (const Extent extent = reservations_.leave(*room_)) arena_.free(extent, Arena::Wait::no);
}

}  // namespace godwit::ref
