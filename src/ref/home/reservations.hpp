// Room for objects that are being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/list.hpp"
#include "godwit/error.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/holders.hpp"

namespace godwit::ref {

// What a reservation holds: memory, or leave to write into a channel.
struct Place {
  Extent extent;
  Elsewhere elsewhere;
  [[nodiscard]] explicit operator bool() const noexcept { return extent || elsewhere; }
};

// Memory is written without a lock: whoever does is a user of the room, and what ends meanwhile is
// kept for the last user. Any thread. Places that come back are the caller's to free.
class Reservations {
 public:
  static constexpr std::size_t kMaxReservations = std::size_t{1} << 20;

  struct OfHolder {};
  struct Room : ListHook<OfHolder> {
    std::uint64_t ticket = 0;
    Holder holder;
    std::uint64_t life = 0;
    Extent extent;
    Elsewhere elsewhere;
    std::uint64_t size = 0;
    std::uint32_t users = 0;
    bool claimed = false;  // by commit, update or fulfil
    bool over = false;
  };

  explicit Reservations(std::uint64_t last_ticket) noexcept : tickets_(last_ticket) {}

  // Errors: overload.
  [[nodiscard]] Result<std::uint64_t> add(Holder holder, std::uint64_t life, const Extent& extent,
                                          std::uint64_t size, const Elsewhere& elsewhere = {});
  // To write into it, until leave(). Errors: not_found, would_block (it is being made an object).
  [[nodiscard]] Result<Room*> enter(Holder holder, std::uint64_t ticket);
  // To make it an object, until leave() or consume(). Errors: not_found, would_block (in use).
  [[nodiscard]] Result<Room*> claim(Holder holder, std::uint64_t ticket);
  [[nodiscard]] Place leave(Room& room);
  // Its memory has become an object's.
  void consume(Room& room);
  [[nodiscard]] Place abandon(Holder holder, std::uint64_t ticket);
  // All of that life, or an earlier one of the node.
  [[nodiscard]] std::vector<Place> end(const Holders::Life& life);
  [[nodiscard]] std::size_t size() const;

 private:
  using Rooms = IntrusiveList<Room, OfHolder>;
  [[nodiscard]] Result<Room*> find(Holder holder, std::uint64_t ticket);
  // The place, unless somebody uses it still.
  [[nodiscard]] Place end(Room& room);
  void forget(Room& room);
  void unlist(Room& room);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Room> rooms_;
  std::unordered_map<NodeId, Rooms> holders_;
  std::uint64_t tickets_;
};

struct StoreState;

// What is becoming an object. Unless done() is called, a room stays a reservation, and memory that
// nobody had reserved is freed.
class Claim {
 public:
  [[nodiscard]] static Result<Claim> create(StoreState& state, Holder holder, std::uint64_t ticket);
  // Of bytes that are at hand, copied into memory that only this knows of. Errors: node_lost, and
  // those of allocating.
  [[nodiscard]] static Result<Claim> copy(StoreState& state, Holder holder,
                                          std::span<const Bytes> parts, Arena::Wait wait);
  Claim(Claim&& other) noexcept
      : state_(other.state_),
        room_(other.room_),
        place_(other.place_),
        size_(other.size_),
        is_open_(std::exchange(other.is_open_, false)) {}
  ~Claim();

  [[nodiscard]] const Extent& extent() const noexcept { return place_.extent; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const Elsewhere& elsewhere() const noexcept { return place_.elsewhere; }
  // That it is for that object (null: a new one), and that a channel has what it is to have.
  // Errors: invalid_argument, those of HomeChannels::check(), would_block.
  [[nodiscard]] Status check(const ObjectId* object, Arena::Wait wait) const;
  void done();

 private:
  Claim(StoreState& state, Reservations::Room* room, const Place& place, std::uint64_t size)
      : state_(state), room_(room), place_(place), size_(size) {}

  StoreState& state_;
  Reservations::Room* room_;  // null: nobody had reserved it
  Place place_;
  std::uint64_t size_;
  bool is_open_ = true;
};

}  // namespace godwit::ref
