// The objects a node is the home of: their bytes, how long they live, who holds and owns them.
//
// An object is a sequence of versions under one id. A version never changes; update() publishes the
// next one, and the one before goes once nobody has it pinned. A handle names one version.
//
// Whoever keeps something here is a Holder: one life of a process. What it holds (pins, borrows,
// objects it owns or promised, reservations) is let go of when it says so, when it has no link
// and has not been heard of for Options::holder_lease, or when its node shows up with a later
// epoch: a process that dies leaks nothing. Processes that hold something call renew() several
// times within that.
//
// Any thread; calls take the lock of a share of the objects for a moment, and none waits for
// another process. What may take long (making segments, disks) is refused with would_block where
// the caller may not wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/handle_key.hpp"

namespace godwit::ref {

struct Holder {
  NodeId node;
  Epoch epoch;
  friend bool operator==(const Holder&, const Holder&) = default;
};

// Until when an object lives, if nobody evicts it before.
enum class LifetimeKind : std::uint8_t {
  until_evicted = 0,
  lease = 1,    // for some time, which extend() sets anew
  holder = 2,   // as long as the process that put it
  readers = 3,  // until so many have read it and let go of it; see locate()
};
struct Lifetime {
  LifetimeKind kind = LifetimeKind::until_evicted;
  std::uint32_t readers = 0;
  Duration lease{};
};

struct NewObject {
  std::uint64_t type = 0;
  Lifetime lifetime{};
  bool owned = false;         // by the holder that puts it, and ended with it
  bool persist = false;       // in a file, so that it outlives the node's process
  std::uint16_t channel = 0;  // of the home's, for what is promised; what is put is where it is
};

// Room for an object that is being written, by a peer through its mapping or piece by piece.
struct Reservation {
  std::uint64_t ticket = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Leave to write a version into a channel, under the key of that object and version; for another
// version of what has no channel, room in memory instead.
struct ElsewhereReservation {
  Reservation room;
  std::uint16_t channel = 0;  // 0: the room is in memory
  ObjectId object;
  std::uint64_t version = 0;
};

// A version to be read. It stays where it is until the pin is released.
struct Located {
  std::uint64_t pin = 0;
  std::uint64_t version = 0;
  std::uint64_t size = 0;
  std::uint64_t type = 0;
  std::uint64_t segment = 0;  // 0: an object of no bytes
  std::uint64_t offset = 0;
  const std::byte* data = nullptr;  // in this process; null: of no bytes, or in the channel alone
  std::uint16_t channel = 0;        // that has them, of the home's; 0: none
  [[nodiscard]] bool is_elsewhere() const noexcept { return data == nullptr && size != 0; }
};

struct ObjectDescription {
  Handle handle;  // of the newest version, with the rights of the one that asked
  LifetimeKind lifetime = LifetimeKind::until_evicted;
  std::optional<Duration> time_left;  // of a lease
  std::uint32_t readers_left = 0;     // of a lifetime of readers
  std::optional<Holder> owner;
  std::uint32_t pins = 0;  // of all versions, by all holders
  std::uint32_t borrows = 0;
  bool borrowed_for_writing = false;
  bool pinned_by_user = false;
  bool pending = false;  // promised, and not there yet
  bool broken = false;   // promised, and never to come
  bool persistent = false;
  bool spilled = false;       // on disk at the moment
  bool elsewhere = false;     // in a channel, and not in memory
  std::uint16_t channel = 0;  // of the home's, that has the newest version; 0: none
  std::uint64_t reads = 0;
  Duration age{};
};

// Says that locate() with a handle would succeed, for as long as Currency says so, and the lease
// runs.
struct Voucher {
  std::uint64_t ticket = 0;           // 0: nobody vouches for it
  std::optional<Duration> time_left;  // of a lease
};

class Currency;
class HomeChannels;
class ObjectFolder;
struct ObjectRecord;
struct StoreState;

class ObjectStore {
 public:
  static constexpr Duration kHolderLease = std::chrono::seconds(10);
  static constexpr Duration kLostGrace = std::chrono::seconds(2);
  static constexpr Duration kBrokenKept = std::chrono::seconds(60);
  // Of one object at a time, each pinned by somebody.
  static constexpr std::size_t kMaxOlderVersions = 1024;

  struct Options {
    NodeId home;
    Arena::Options arena;
    HandleKey key;
    Duration holder_lease = kHolderLease;
    Duration lost_grace = kLostGrace;  // after the last link to a holder broke
    // For how long those who ask for a broken promise are told why it was.
    Duration broken_kept = kBrokenKept;
    std::size_t max_objects = std::size_t{1} << 22;
    std::size_t max_holders = 65'536;
    // The one before the first of a reservation. At random: a writer may still have a ticket of an
    // earlier life of this home, which is to be none of this.
    std::uint64_t last_ticket = random_node_id().value >> 1;
    // Asked by sweep(), of each holder that has been silent for its lease: one that is linked to
    // this node lives. Null: none is.
    std::function<bool(NodeId)> is_linked{};
    // Called when what a waiter waits for has happened, by whatever thread made it happen, with no
    // lock held; once for each waiter that wait() kept.
    std::function<void(std::uint64_t waiter)> on_ready{};

    // Where other processes see what they may go on using. None: they ask.
    std::shared_ptr<Currency> currency{};
    // Where objects go that memory has no room for, and those that are to outlive this process.
    // None: there are no such objects, and memory is all there is.
    std::shared_ptr<ObjectFolder> folder{};
    // Where else objects' bytes may be. None: nowhere.
    std::shared_ptr<HomeChannels> channels{};
    // There is work for remove_files(). By any thread, with no lock held.
    std::function<void()> on_files_to_remove{};
    // Of a file that is no good: a sentence for an operator. By any thread.
    std::function<void(const std::string&)> on_warning{};
    // Since 1970; none: the system's clock.
    std::function<std::int64_t()> wall_ns{};
  };
  struct Stats {
    std::uint64_t puts = 0, resolves = 0, evictions = 0, expired = 0, holders_lost = 0;
    std::uint64_t objects = 0, pins = 0, borrows = 0, reservations = 0, waiters = 0, holders = 0;
    std::uint64_t spills = 0, loads = 0, disk_bytes = 0;
  };

  ObjectStore(const Clock& clock, Options options);
  // Files of objects that do not persist are removed.
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // What ObjectFolder::open() found: served again under the same handles, but for leases that are
  // over. Before anything else. Files of another home or key are set aside, and warned of.
  void restore(std::vector<ObjectRecord> records);

  // --- Objects ---
  // The parts one after another become the object; copied. With no room in memory, others that
  // nobody uses go to the folder. One that persists is on disk afterwards. Errors:
  // resource_exhausted (budget, disk, too many objects), would_block, unsupported (to persist
  // without a folder). With `voucher` it is vouched for in the same step, as by vouch_for().
  [[nodiscard]] Result<Handle> put(Holder holder, const NewObject& object,
                                   std::span<const Bytes> parts, Arena::Wait wait,
                                   Voucher* voucher = nullptr);
  // In two steps, for large ones: the caller writes in between. A reservation ends with its holder.
  // Errors: those of put().
  [[nodiscard]] Result<Reservation> reserve(Holder holder, std::uint64_t size, Arena::Wait wait);
  // Errors: not_found (no such reservation of this holder), invalid_argument (beyond its size).
  [[nodiscard]] Status write(Holder holder, std::uint64_t ticket, std::uint64_t offset,
                             Bytes bytes);
  // Like update() and fulfil(): where it fails, the reservation stays. Errors: not_found, those of
  // put(), would_block (it is being written by another thread).
  [[nodiscard]] Result<Handle> commit(Holder holder, std::uint64_t ticket, const NewObject& object,
                                      Arena::Wait wait = Arena::Wait::yes);
  void abandon(Holder holder, std::uint64_t ticket);
  // Gives the memory of a reservation to `use`. If that returns true, it is its own from there on;
  // otherwise the reservation stays. Errors: not_found, would_block (it is being written by another
  // thread), those of `use`.
  using UseRoom = std::function<Result<bool>(const Extent& extent, std::uint64_t size)>;
  [[nodiscard]] Result<bool> use_room(Holder holder, std::uint64_t ticket, const UseRoom& use);
  // In two steps, too, with the bytes in a channel that the caller writes to; abandoned, or ended
  // with its holder, the home removes them. `next_of` null: for a new object. Else for the next
  // version of it, or what was promised: in the channel that its maker wanted, or else in that
  // one, or else in memory. commit(), update() and fulfil() look whether the bytes are there, which
  // takes its time. Errors: unsupported (there is no such channel; the object persists), those of
  // reserve().
  [[nodiscard]] Result<ElsewhereReservation> reserve_elsewhere(Holder holder, std::uint64_t size,
                                                               std::uint16_t channel,
                                                               const Handle* next_of,
                                                               Arena::Wait wait);

  // Every verb below checks the handle first. Errors of all: permission (the mac is wrong, or the
  // rights do not suffice), not_found (evicted or expired, or another home), bad_format. locate()
  // and update() are about the version that the handle names; the others about the object, and
  // take a handle of any of its versions.

  // Pins the version. Of a lifetime of n readers the n-th release() ends the object: whoever has
  // located it by then reads on, and a reader that dies has not read. Errors: stale (that version
  // is gone; the message names the newest), would_block (promised and not there yet, or on disk
  // and `wait` is no), what a broken promise ended in, and for what is on disk resource_exhausted
  // (no room in memory), bad_format (its file is damaged), io; type_mismatch is the caller's to
  // check.
  // With From::anywhere what is in a channel is not brought back: Located::is_elsewhere().
  enum class From : std::uint8_t { memory, anywhere };
  [[nodiscard]] Result<Located> locate(Holder holder, const Handle& handle, Arena::Wait wait,
                                       From from = From::memory);
  // Brings back the version that the holder has pinned already; the pin is the same. Takes as long
  // as its channel or disk does. Errors: those of locate_again() and locate().
  [[nodiscard]] Result<Located> fetch(Holder holder, const Handle& handle, std::uint64_t pin);
  // Another pin on the version that the holder has pinned already; it does not count as a reader.
  // Errors: not_found (the handle's object is not what is pinned).
  [[nodiscard]] Result<Located> locate_again(Holder holder, const Handle& handle,
                                             std::uint64_t pin);
  // Unknown pins, and those of other holders, are ignored.
  void release(Holder holder, std::uint64_t pin);
  // For processes of this host. None for a version that is not the newest, for what each reader
  // counts for, and where there are no words left.
  [[nodiscard]] Voucher vouch_for(const Handle& handle);
  // A handle of the newest version, with the same rights.
  [[nodiscard]] Result<Handle> newest(const Handle& handle) const;
  // Whether that version can be had, now or once the promise of it is kept.
  [[nodiscard]] bool exists(const Handle& handle) const;
  [[nodiscard]] Result<ObjectDescription> describe(const Handle& handle) const;
  // No new reader from here on; memory goes with the last pin. Evicting what is gone is fine.
  // A persistent one does not come back after this. Errors: borrowed, would_block (persistent).
  [[nodiscard]] Status evict(const Handle& handle, Arena::Wait wait = Arena::Wait::yes);
  // Changes until when it lives, from now on; a lease may be made shorter, too. An object that is
  // borrowed outlives its lifetime until the last borrow ends. Errors: would_block (persistent).
  [[nodiscard]] Status set_lifetime(const Handle& handle, const Lifetime& lifetime, Holder holder,
                                    Arena::Wait wait = Arena::Wait::yes);
  // A pinned object is neither spilled nor ended by its lifetime, until unpinned; evict() ends it.
  [[nodiscard]] Status set_pinned(const Handle& handle, bool pinned);
  // The same object with fewer rights. Needs `delegate`.
  [[nodiscard]] Result<Handle> restrict(const Handle& handle, Rights rights) const;

  // --- Versions ---
  // Who writes: a process, by a borrow for writing that it has. 0: by none, as its owner, or where
  // it has none.
  struct Writer {
    Writer(Holder who, std::uint64_t by_borrow = 0) noexcept : holder(who), borrow(by_borrow) {}
    Holder holder;
    std::uint64_t borrow;
  };
  // Publishes what the reservation holds as the next version after the one that the handle names.
  // Errors: stale (somebody has published another), borrowed (otherwise than by the writer's own
  // borrow), not_found (that borrow has ended), permission (somebody else owns it), overload
  // (kMaxOlderVersions), would_block (persistent).
  [[nodiscard]] Result<Handle> update(Writer writer, const Handle& handle, std::uint64_t ticket,
                                      Arena::Wait wait = Arena::Wait::yes);
  // Of these bytes, without a reservation. Errors: also those of reserve().
  [[nodiscard]] Result<Handle> update(Writer writer, const Handle& handle,
                                      std::span<const Bytes> parts, Arena::Wait wait);

  // --- Ownership: an owned object ends with its owner ---
  // Makes the holder the owner of an object that has none. Errors: permission (it has one).
  [[nodiscard]] Status own(Holder holder, const Handle& handle);
  // Gives up ownership; the object lives on as its lifetime says.
  [[nodiscard]] Status disown(Holder holder, const Handle& handle);
  // Two steps: the owner offers, the receiver accepts; until then, and if nobody does within the
  // lease, the owner is who it was. One offer at a time: a later one replaces it.
  [[nodiscard]] Result<std::uint64_t> offer(Holder owner, const Handle& handle, Duration lease);
  // Errors: not_found (lapsed, taken, or replaced).
  [[nodiscard]] Status accept(Holder receiver, const Handle& handle, std::uint64_t offer);
  // Many readers or one writer. An owned object whose owner ends it while it is borrowed lives
  // until the last borrow ends. Errors: borrowed (and by whom).
  enum class BorrowKind : std::uint8_t { read = 0, write = 1 };
  [[nodiscard]] Result<std::uint64_t> borrow(Holder holder, const Handle& handle, BorrowKind kind);
  void give_back(Holder holder, std::uint64_t borrow);
  // Ends an owned object now, or when its last borrow ends. Errors: permission (not the owner).
  [[nodiscard]] Status drop(Holder owner, const Handle& handle);

  // --- Promises: objects that are not there yet ---
  // `at_most` of zero: no time limit; later than that it is broken with `deadline`. The holder is
  // who answers for it: if it ends first, or the owner does, the promise is broken with node_lost.
  // A lease begins when the object comes. What is broken is remembered for Options::broken_kept.
  [[nodiscard]] Result<Handle> promise(Holder producer, const NewObject& object, Duration at_most);
  // Another process answers for it from here on.
  [[nodiscard]] Status take_over(Holder producer, const Handle& handle);
  // By any holder. Errors: already_exists (it was fulfilled, broken or cancelled before; which).
  [[nodiscard]] Result<Handle> fulfil(Holder producer, const Handle& handle, std::uint64_t ticket,
                                      Arena::Wait wait = Arena::Wait::yes);
  // With these bytes, without a reservation. Errors: also those of reserve().
  [[nodiscard]] Result<Handle> fulfil(Holder producer, const Handle& handle,
                                      std::span<const Bytes> parts, Arena::Wait wait);
  // To cancel it, say so with that error code.
  [[nodiscard]] Status break_promise(const Handle& handle, Error why);

  // --- Waiting ---
  // True: it has happened already. False: on_ready(waiter) follows, exactly once, when the version
  // is there (or is known never to come), or, for `newer_than` other than 0, when there is a newer
  // one, or the object ends. Errors: overload (too many waiters), already_exists (that number
  // waits). While a thread is in stop_waiting(), another may be in on_ready() for the same waiter.
  [[nodiscard]] Result<bool> wait(const Handle& handle, std::uint64_t newer_than,
                                  std::uint64_t waiter);
  void stop_waiting(std::uint64_t waiter);

  // --- Holders and time ---
  // False: it holds nothing here; what it held before is gone, if anything was.
  bool renew(Holder holder);
  // It says that it ends: what it holds is let go of now.
  void leave(Holder holder);
  // Its last link broke, and its process has ended, most likely: it has lost_grace to come back.
  void lost(NodeId node);
  // Its last link broke because nothing was heard of it: it has holder_lease to come back.
  void cut_off(NodeId node);
  // Ends what is over. Returns when there is something to do again, as far as it is known by then:
  // what is put or shortened later may end earlier. Nobody is given what is over, swept or not.
  // Costs what ends. Memory beyond Arena::Options::keep_bytes stays until arena().trim(), which may
  // take its time.
  Time sweep();
  // Those of objects that ended where nobody could wait for a disk. Takes as long as that does.
  void remove_files();

  // Handles have those rights: whoever lists decides what the asker may do.
  [[nodiscard]] std::vector<ObjectDescription> list(std::size_t at_most,
                                                    Rights rights = Rights::none) const;
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] Arena& arena() noexcept;
  [[nodiscard]] HomeChannels* channels() const noexcept;  // null: none
  // Removes from channels what would be left behind by this life; waits for them a while. Nothing
  // is put afterwards.
  void close_channels();

 private:
  std::unique_ptr<StoreState> state_;
};

}  // namespace godwit::ref
