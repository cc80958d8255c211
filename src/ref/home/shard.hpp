// A share of a home's objects under a lock of its own, and what all shards have in common.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/file_removals.hpp"
#include "ref/home/holders.hpp"
#include "ref/home/numbered.hpp"
#include "ref/home/object.hpp"
#include "ref/home/reservations.hpp"
#include "ref/home/store.hpp"
#include "ref/home/time_heap.hpp"
#include "ref/home/waiters.hpp"

namespace godwit::ref {

// Objects are in the shard that their id names, and so are the pins and borrows of them.
struct alignas(64) Shard {
  explicit Shard(unsigned number);
  // Any thread. As good as random: the seeds are, and each id is of its own.
  [[nodiscard]] ObjectId new_id() noexcept;

  std::mutex mutex;
  std::unordered_map<ObjectId, Object> live;
  std::unordered_map<ObjectId, Object> ended;  // pinned still
  std::unordered_map<NodeId, HolderShare> shares;
  Numbered<Pin> pins;
  Numbered<Borrow> borrows;
  TimeHeap<Object> times;
  // Of a home with a folder: what may go to disk, the longest unused first.
  IntrusiveList<Object, IdleList> idle;
  IntrusiveList<Object, IdleList> idle_filed;  // and those whose file is there already
  std::size_t idle_bytes = 0;
  std::uint64_t moves = 0;  // of versions and objects between memory and disk, that have ended
  std::condition_variable moved;
  std::uint64_t puts = 0, resolves = 0, evictions = 0, expired = 0;

 private:
  const unsigned number_;
  std::array<std::uint64_t, 2> seeds_{};
  std::atomic<std::uint64_t> ids_{0};
};

class Visit;

// A version that a thread works on, with its shard's lock not held: neither goes away meanwhile.
struct Moving {
  Object* object = nullptr;
  std::uint64_t version = 0;
  std::uint64_t size = 0;
  std::uint16_t channel = 0;  // that has it; 0: the disk
};

// What keeps a version from being located at once: it is on disk, or in a channel. `mine`: the
// caller is to bring it back; else another thread is at it.
struct Absence {
  bool any = false;
  std::uint64_t moves = 0;
  std::optional<Moving> mine;
};

// Locks are taken in this order: making_room; a shard's; then one of holders, reservations,
// waiters, removals. Never two shards' at once.
struct StoreState {
  static constexpr unsigned kShards = 1U << Numbered<Pin>::kSuffixBits;
  // How many objects a thread puts into a shard before it goes on to the next.
  static constexpr unsigned kInARow = 1024;
  static constexpr unsigned kThreadStride = 5 * kInARow;
  // When memory is full, so much of it is emptied at once, at least: files cost time, each.
  static constexpr std::size_t kSpillShare = 64;
  // How often room is made for one allocation, or one version is brought back, if others take what
  // it was made for.
  static constexpr unsigned kMaxRounds = 2 * kSpillShare;

  StoreState(const Clock& clock, ObjectStore::Options options);

  [[nodiscard]] Shard& shard_of(const ObjectId& id) noexcept {
    return shards[id.bytes.back() % kShards];
  }
  [[nodiscard]] Shard& shard_of(std::uint64_t number) noexcept { return shards[number % kShards]; }
  // Threads that put at the same time put into different shards, mostly, and do not meet; all the
  // objects of one thread are spread over the shards, for those who read them.
  [[nodiscard]] Shard& shard_for_new() noexcept;
  [[nodiscard]] ObjectId new_id() noexcept { return shard_for_new().new_id(); }

  // The handle is this home's, unchanged, and allows `needed`.
  [[nodiscard]] Status check(const Handle& handle, Rights needed) const;
  [[nodiscard]] Handle sign(const Object& object, const Version& version, Rights rights) const;
  struct Addition {
    // There is no version yet, and it comes within that time (zero: some day).
    std::optional<Duration> promised{};
    Voucher* voucher = nullptr;  // as ObjectStore::put()'s
  };
  [[nodiscard]] Result<Handle> add(Holder holder, const ObjectId& id, const NewObject& wanted,
                                   const Version& version, const Addition& how);
  // What is to persist is in a file first. On an error the memory is the caller's still.
  [[nodiscard]] Result<Handle> add_new(Holder holder, const NewObject& wanted, Version version,
                                       Voucher* voucher = nullptr);
  // One whose bytes are in a channel already.
  [[nodiscard]] Result<Handle> add_elsewhere(Holder holder, const NewObject& wanted,
                                             const Claim& claim);
  // Lets go of everything it holds.
  void end_life(const Holders::Life& life);

  // --- residence.cpp: between memory and disk. Not under a shard's lock. ---
  // Puts objects that nobody uses on disk where there is no room. Errors: those of Arena, and what
  // the disk said.
  [[nodiscard]] Result<Extent> allocate(std::size_t bytes, Arena::Wait wait);
  // Locates what is on disk or in a channel, which another thread may be bringing back already.
  // `locate` is asked again once it is there.
  using Locate = std::function<Result<Located>(Visit& visit, Absence& absence)>;
  [[nodiscard]] Result<Located> bring_back(const Handle& handle, Absence absence,
                                           const Locate& locate);
  // Until a thread that was moving or filing something of the shard, after that count, is done.
  void wait_for_move(Shard& shard, std::uint64_t moves);
  // With Wait::yes also those that others left to be removed.
  void remove_files(std::span<const ObjectFileName> names, Arena::Wait wait);
  void warn(const std::string& text) const;
  // What a reservation held.
  void free(const Place& place);
  // Of objects that have not ended.
  [[nodiscard]] std::vector<Elsewhere> all_elsewhere();

  // --- persistence.cpp ---
  // Of a version that is to be written, by a home with a folder.
  [[nodiscard]] ObjectRecord record_of(const ObjectId& id, std::uint64_t type,
                                       const Version& version) const;
  [[nodiscard]] ObjectRecord record_of(const Object& object, const Version& version) const;
  [[nodiscard]] std::int64_t wall_ns() const;
  void restore(const ObjectRecord& record);
  // Of a persistent object: in its file first.
  [[nodiscard]] Status set_lifetime(const Handle& handle, const Lifetime& lifetime,
                                    Arena::Wait wait);

  const Clock& clock;
  const ObjectStore::Options options;
  Arena arena;
  Holders holders;
  Reservations reservations;
  Waiters waiters;
  std::deque<Shard> shards;
  std::atomic<std::size_t> objects{0};  // and those that have ended and are pinned
  std::atomic<std::uint64_t> holders_lost{0};
  std::atomic<std::uint64_t> offers{0};
  std::mutex making_room;  // one thread at a time, so that it gets the room that it makes
  FileRemovals removals;
  std::atomic<std::uint64_t> spills{0}, loads{0};
  alignas(64) std::atomic<std::uint64_t> uses{0};

 private:
  [[nodiscard]] Result<std::size_t> spill(std::size_t wanted);  // how much it was
  // Nothing: nothing is idle.
  struct Spilling {
    Shard* shard = nullptr;
    std::size_t freed = 0;  // if it needed no writing
    std::optional<Moving> moving;
    ObjectRecord record;
    Extent extent;
  };
  enum class Idle : std::uint8_t { any, filed };
  [[nodiscard]] std::optional<Spilling> take_longest_idle(Idle which);
  [[nodiscard]] Result<std::size_t> put_away(const Spilling& spilling);
  [[nodiscard]] Status load(const Moving& moving, Extent& extent);
  void lose(Visit& visit, const Moving& moving, const Error& why);
  [[nodiscard]] std::size_t idle_bytes();
};

}  // namespace godwit::ref
