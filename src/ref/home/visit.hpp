// A look into a shard, with its lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/home/object.hpp"
#include "ref/home/shard.hpp"

namespace godwit::ref {

// What must not happen under the lock happens when the visit is over: memory is freed, waiters are
// called, and the earlier life of a holder that came back loses what it holds elsewhere.
class Visit {
 public:
  // How much is ended at once, before others get at the shard.
  static constexpr std::size_t kBatch = 256;

  // `wait`: whether it may remove files when it is over, or leaves that to others.
  Visit(StoreState& state, Shard& shard, Arena::Wait wait = Arena::Wait::no)
      : state_(state), shard_(shard), lock_(shard.mutex), wait_(wait) {}
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

  // Pins it for the holder. Where it is on disk, `absence` says so, and what is returned means
  // nothing; with no `absence` that is would_block.
  // With From::anywhere what is in a channel is located as it is.
  [[nodiscard]] Result<Located> locate(Holder holder, const Handle& handle, Absence* absence,
                                       ObjectStore::From from = ObjectStore::From::memory);
  // What that pin is on, once it is in memory; `absence` as above.
  [[nodiscard]] Result<Located> located_by(const Handle& handle, const Pin& pin, Absence& absence);
  // Another pin on what that one is on.
  [[nodiscard]] Result<Located> pin_again(const Handle& handle, const Pin& first);

  // --- Memory ---
  void publish(Object& object, const Version& version);
  // Null: too many pins.
  [[nodiscard]] Pin* pin(HolderShare& share, Object& object, Version& version);
  enum class Reading : std::uint8_t { complete, cut_short };
  void unpin(Pin& pin, Reading reading);
  // Processes that were told that its newest version can be had have to ask again.
  void recall(Object& object);
  // For ObjectStore::vouch_for(). The handle is good for reading; the home has a Currency.
  [[nodiscard]] Voucher vouch_for(const Handle& handle, Object& object);
  // To be called when an object may have begun or ceased to be idle.
  void settle(Object& object);
  // Until end_move() the calling thread works on the version's file.
  [[nodiscard]] Moving begin_move(Object& object, Version& version);
  // `file`: there is one now, or still. True: the version is its object's newest, and is there.
  // Others that wait for it look again. False: the object may be gone.
  bool end_move(const Moving& moving, bool file);
  // The thread that set Object::filing is done; null: the object has ended meanwhile.
  void end_filing(Object* object);
  // Its memory is used for something else; the file has it.
  void drop_memory(Object& object);
  // After the visit.
  void remove_file(const ObjectFileName& name) { removed_.push_back(name); }

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

  // Also for what was there and is lost.
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
  void set_idle(Object& object, bool idle);
  // To processes of this host, where it lies; the handle is good for reading its newest version.
  void show(const Handle& handle, const Object& object);
  // False: the object has ended before, and may be gone.
  bool unpin(Object& object, Version& version);
  // Somebody has to bring it back: the caller, if nobody is at it.
  void note_absence(Object& object, Version& version, Absence& absence);
  void free(const Extent& extent);
  // And what of it is in a channel.
  void free(const Object& object, const Version& version);
  // Its file is nobody's any more, unless a thread is at it, which will see.
  void remove_file(const Object& object, Version& version);

  StoreState& state_;
  Shard& shard_;
  std::unique_lock<std::mutex> lock_;
  const Arena::Wait wait_;
  Extent freed_;  // one is what most visits free, and takes no allocation
  std::vector<Extent> freed_more_;
  std::vector<ObjectFileName> removed_;
  std::vector<Elsewhere> removed_elsewhere_;
  std::vector<std::uint64_t> ready_;
  std::optional<Holders::Life> superseded_;
};

}  // namespace godwit::ref
