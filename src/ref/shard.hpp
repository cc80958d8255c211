// A share of a home's objects under a lock of its own, and what all shards have in common.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"
#include "ref/arena.hpp"
#include "ref/holders.hpp"
#include "ref/numbered.hpp"
#include "ref/object.hpp"
#include "ref/reservations.hpp"
#include "ref/store.hpp"
#include "ref/time_heap.hpp"
#include "ref/waiters.hpp"

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
  std::uint64_t puts = 0, resolves = 0, evictions = 0, expired = 0;

 private:
  const unsigned number_;
  std::array<std::uint64_t, 2> seeds_{};
  std::atomic<std::uint64_t> ids_{0};
};

// Locks are taken in this order: a shard's; then one of holders, reservations, waiters. Never two
// shards' at once.
struct StoreState {
  static constexpr unsigned kShards = 1U << Numbered<Pin>::kSuffixBits;
  // How many objects a thread puts into a shard before it goes on to the next.
  static constexpr unsigned kInARow = 1024;
  static constexpr unsigned kThreadStride = 5 * kInARow;

  StoreState(const Clock& clock, ObjectStore::Options options);

  [[nodiscard]] Shard& shard_of(const ObjectId& id) noexcept {
    return shards[id.bytes.back() % kShards];
  }
  [[nodiscard]] Shard& shard_of(std::uint64_t number) noexcept { return shards[number % kShards]; }
  // Threads that put at the same time put into different shards, mostly, and do not meet; all the
  // objects of one thread are spread over the shards, for those who read them.
  [[nodiscard]] Shard& shard_for_new() noexcept;

  // The handle is this home's, unchanged, and allows `needed`.
  [[nodiscard]] Status check(const Handle& handle, Rights needed) const;
  [[nodiscard]] Handle sign(const Object& object, const Version& version, Rights rights) const;
  // `promised`: there is no version yet, and it comes within that time (zero: some day).
  [[nodiscard]] Result<Handle> add(Holder holder, const NewObject& wanted, const Version& version,
                                   std::optional<Duration> promised = std::nullopt);
  // Lets go of everything it holds.
  void end_life(const Holders::Life& life);

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
};

}  // namespace godwit::ref
