// What a home knows of an object, and of those who hold something of it. All of it belongs to one
// shard, and is looked at with that shard's lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/numbered.hpp"
#include "ref/home/store.hpp"
#include "ref/home/time_heap.hpp"

namespace godwit::ref {

struct Object;
struct HolderShare;

struct Version {
  std::uint64_t number = 1;
  std::uint64_t size = 0;
  Extent extent;  // none: it is on disk, in a channel, or of no bytes
  std::uint32_t pins = 0;
  // Of the home's channels, the one that has its bytes; 0: none. What is in memory then is a copy.
  std::uint16_t channel = 0;
  // A whole file of it is in the folder. It stays good while the version is in memory, too, since a
  // version never changes.
  bool file = false;
  // A thread writes or reads its file, has a pin on it that is nobody's, and sees to the file if
  // the version ends meanwhile.
  bool moving = false;

  [[nodiscard]] bool in_memory() const noexcept { return extent || size == 0; }
  // It can be dropped from memory as it is.
  [[nodiscard]] bool is_kept_elsewhere() const noexcept { return file || channel != 0; }
};

struct OfHolder {};
struct OfObject {};

struct Pin : NumberedItem, ListHook<OfHolder> {
  Object* object = nullptr;
  HolderShare* holder = nullptr;
  std::uint64_t version = 0;
  bool again = false;  // beside one that counts as a reader
};

struct Borrow : NumberedItem, ListHook<OfHolder>, ListHook<OfObject> {
  Object* object = nullptr;
  HolderShare* holder = nullptr;
  ObjectStore::BorrowKind kind = ObjectStore::BorrowKind::read;
};

struct OwnedList {};
struct KeptList {};
struct PromisedList {};
struct IdleList {};

enum class Presence : std::uint8_t { there, promised, broken };

struct Object : TimeHook,
                ListHook<OwnedList>,
                ListHook<KeptList>,
                ListHook<PromisedList>,
                ListHook<IdleList> {
  ObjectId id;
  std::uint64_t type = 0;
  Time created;
  Version newest;
  std::map<std::uint64_t, Version> older;  // those that are pinned

  LifetimeKind lifetime = LifetimeKind::until_evicted;
  Presence presence = Presence::there;
  bool pinned_by_user = false;
  bool lifetime_over = false;  // and only a borrow or the user's pin keeps it
  bool dropped = false;        // by its owner, and only a borrow keeps it
  bool ended = false;          // no handle finds it; its pins keep memory
  bool awaited = false;        // there may be waiters
  bool persistent = false;     // every version is in a file before it is published
  bool filing = false;         // a thread writes to the folder what the object is to be next
  std::uint16_t channel = 0;   // where its maker wants its versions; 0: in memory
  std::uint32_t readers_left = 0;
  std::uint32_t pins = 0;  // of all versions
  // The highest version that somebody was allowed to write into a channel. Each is, once: no two
  // writers ever meet under one key.
  std::uint64_t reserved = 0;
  std::uint64_t reads = 0;
  std::uint64_t voucher = 0;     // a ticket of Currency, or 0
  std::uint64_t idle_since = 0;  // of StoreState::uses, while it is on Shard::idle
  Duration lease{};              // of a lifetime of that kind
  Time lease_end = kNever;       // once it is there

  HolderShare* owner = nullptr;
  HolderShare* kept_by = nullptr;      // of a lifetime of kind holder
  HolderShare* promised_by = nullptr;  // who answers for it
  Time promised_until = kNever;
  std::unique_ptr<Error> broken;
  std::uint64_t offer = 0;
  Time offer_until = kNever;
  IntrusiveList<Borrow, OfObject> borrows;

  [[nodiscard]] bool borrowed_for_writing() noexcept {
    return !borrows.empty() && borrows.front().kind == ObjectStore::BorrowKind::write;
  }
};

// What one holder holds of one shard's objects.
struct HolderShare {
  Holder holder;
  std::uint64_t life = 0;  // see Holders
  IntrusiveList<Pin, OfHolder> pins;
  IntrusiveList<Borrow, OfHolder> borrows;
  IntrusiveList<Object, OwnedList> owned;
  IntrusiveList<Object, KeptList> kept;
  IntrusiveList<Object, PromisedList> promised;
};

}  // namespace godwit::ref
