// A look into a shard, with its lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/object.hpp"
#include "ref/shard.hpp"

namespace godwit::ref {

// What must not happen under the lock happens when the visit is over: memory is freed, waiters are
// called, and the earlier life of a holder that came back loses what it holds elsewhere.
class Visit {
 public:
  // How much is ended at once, before others get at the shard.
  static constexpr std::size_t kBatch = 256;

  Visit(StoreState& state, Shard& shard) : state_(state), shard_(shard), lock_(shard.mutex) {}
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // Errors: what Holders::admit() says. Call it before find(): a holder's earlier life may take
  // objects with it.
  [[nodiscard]] Result<HolderShare*> admit(Holder holder);
  // The object, whichever version the handle names. Errors: not_found.
  [[nodiscard]] Result<Object*> find(const Handle& handle);
  // Null: neither the newest one nor one that is pinned.
  [[nodiscard]] static Version* version_of(Object& object, std::uint64_t number) noexcept;

  // --- Memory ---
  void publish(Object& object, const Version& version);
  // Null: too many pins.
  [[nodiscard]] Pin* pin(HolderShare& share, Object& object, Version& version);
  enum class Reading : std::uint8_t { complete, cut_short };
  void unpin(Pin& pin, Reading reading);

  // --- Ends. After each of these the object may be gone, where the result does not tell. ---
  void end(Object& object);
  // Unless somebody has borrowed it, or the user wants to keep it.
  void end_if_over(Object& object);
  void drop(Object& object);
  void end_borrow(Borrow& borrow);
  // What its times ask for. False: it is gone.
  bool act(Object& object, Time now);
  // What is due, up to kBatch. True: there may be more.
  bool act_on_due(Time now);
  // Ends a part of what a holder of that life, or an earlier one, holds. True: there is more.
  bool let_go(const Holders::Life& life);

  // --- Who it belongs to; null: nobody ---
  void set_owner(Object& object, HolderShare* share);
  void set_producer(Object& object, HolderShare* share);
  void set_lifetime(Object& object, const Lifetime& lifetime, HolderShare* share, Time now);

  void break_promise(Object& object, Error why, Time now);
  // Those that wait for something older than `version` are called after the visit.
  static constexpr std::uint64_t kEverything = UINT64_MAX;
  void tell(Object& object, std::uint64_t version);
  // To be called when one of the object's times has changed.
  void reschedule(Object& object);

 private:
  std::size_t let_go(HolderShare& share, std::size_t at_most);
  // A promise, with the process that made it, owns it or was to keep it.
  void lose(Object& object, Holder holder);
  void set_keeper(Object& object, HolderShare* share);
  void free(const Extent& extent);

  StoreState& state_;
  Shard& shard_;
  std::unique_lock<std::mutex> lock_;
  Extent freed_;  // one is what most visits free, and takes no allocation
  std::vector<Extent> freed_more_;
  std::vector<std::uint64_t> ready_;
  std::optional<Holders::Life> superseded_;
};

}  // namespace godwit::ref
