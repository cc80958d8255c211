// The topics a node is the home of: items in order, and what each group of consumers has of them.
//
// A producer appends batches to a topic; each item gets the next offset, from 0 on. Every group
// sees every item, and its consumers share them: fetch() leases some to a consumer for a time, and
// what it has not acked when that is over, or when it dies, is delivered again. So each item is
// delivered at least once, and once if every consumer acks in time and none dies.
//
// An item is kept until every group that exists has acked it, or longer where the topic keeps items
// for replay. The memory of a batch goes back as soon as nobody needs any item of it.
//
// Producers and consumers are Members of processes, and these are Holders as in ref/home/store.hpp:
// one life of a process, which ends when it says so, when it was silent for Options::holder_lease,
// or with its node's next epoch.
//
// Any thread; calls take the lock of a topic for a moment, and none waits for another process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/home/store.hpp"
#include "ref/stream/batch.hpp"
#include "ref/stream/filter.hpp"
#include "ref/stream/outstanding.hpp"

namespace godwit::ref::stream {

// Of one home, and of one life of it; not given out again.
using TopicId = Id<struct TopicTag>;
// Of one topic; not given out again.
using GroupId = Id<struct GroupTag>;
// Of one topic.
using LeaseId = Id<struct LeaseTag>;

// A producer or a consumer: a process may be several.
struct Member {
  Holder process;
  std::uint64_t number = 0;  // of the process's own choice

  // NOLINTNEXTLINE(google-explicit-constructor): a process that is one needs no number.
  constexpr Member(Holder holder, std::uint64_t which = 0) noexcept
      : process(holder), number(which) {}
  friend bool operator==(const Member&, const Member&) = default;
};

struct GroupKey {
  TopicId topic;
  GroupId group;
};

// What is kept for replay after everybody has acked it: a batch stays while one of these asks for
// it, and gives way, oldest first, where a new one would not fit into the topic.
struct Replay {
  std::uint64_t items = 0;  // at least the last so many
  std::uint64_t bytes = 0;
  Duration time{};  // at least what is younger
};

struct TopicOptions {
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

  std::uint64_t max_bytes = kMaxBytes;  // of all batches, as they are in memory
  Replay replay{};
  // Until there have been so many groups, everything is kept: whoever comes late misses nothing.
  // 0: what is appended while there is no group is for nobody.
  std::uint32_t groups_awaited = 1;
};

enum class ProducerKind : std::uint8_t {
  one_of_many = 0,
  sole = 1,  // nobody else may append, and if it ends before it closes the topic, that is an error
};

// Where a group begins to read.
struct Position {
  enum class Kind : std::uint8_t { oldest = 0, end = 1, offset = 2 };
  Kind kind = Kind::oldest;
  std::uint64_t offset = 0;
};

struct GroupOptions {
  Position start{};
  Filter filter{};
  bool lasting = true;  // false: it ends with the last of its consumers
};

struct AppendOptions {
  // Of this producer, rising: one that is not beyond its last has been appended already, and is not
  // again. 0: not checked.
  std::uint64_t sequence = 0;
  std::uint64_t waiter = 0;  // called when there is room, if there is none; 0: nobody
};

struct FetchOptions {
  static constexpr Duration kLease = std::chrono::seconds(30);

  std::uint32_t items = 1000;
  // As they lie in batches. One item is delivered, however large it is.
  std::uint64_t bytes = std::uint64_t{4} << 20;
  // Of small pieces behind the first, for whoever copies those and not the others.
  std::uint64_t bytes_copied = UINT64_MAX;
  static constexpr std::uint64_t kLentFrom = std::uint64_t{16} << 10;  // what is not small
  Duration lease = kLease;
  std::uint64_t waiter = 0;  // called when there is something, if there is nothing; 0: nobody
};

// Items one after another, of one batch.
struct Slice {
  std::uint64_t first = 0;  // offset of the first
  std::uint32_t items = 0;
  std::uint32_t deliveries = 1;  // this one and those before
  std::uint32_t index = 0;       // of the first one, in its batch
  std::uint32_t batch_items = 0;
  std::uint64_t segment = 0;  // of the arena, and where in it the batch's image is
  std::uint64_t offset = 0;
  Bytes image{};  // in this process

  [[nodiscard]] Item item(std::uint32_t number) const noexcept {
    return BatchView(image, batch_items).item(index + number);
  }
};

struct Delivery {
  LeaseId lease;
  OffsetRange range;          // what ack() of everything is about
  std::vector<Slice> slices;  // by offset
  bool ended = false;         // no items, and there will be none
};

struct TopicStats {
  TopicId id;
  std::string name;
  std::uint64_t oldest = 0;  // offset of the first item that is kept
  std::uint64_t end = 0;     // offset that the next item gets, and how many there were
  std::uint64_t appended_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t kept_batches = 0;
  std::uint64_t refused = 0;  // appends that did not fit
  std::size_t producers = 0, groups = 0, leases = 0;
  bool ended = false;
  std::optional<Error> error;  // that it ended with
};

struct GroupStats {
  GroupId id;
  std::string name;
  std::uint64_t next = 0;   // offset of the first item that was not given to anybody
  std::uint64_t acked = 0;  // offset up to which everything is acked
  std::uint64_t lag = 0;    // items not acked, and not known to be unwanted
  std::uint64_t leased = 0, delivered = 0, redelivered = 0, filtered = 0;
  std::size_t consumers = 0;
};

struct StreamState;

class StreamStore {
 public:
  static constexpr Duration kEndedKept = std::chrono::seconds(60);
  static constexpr std::size_t kMaxName = 256;
  static constexpr std::size_t kMaxGroups = 1024;                       // of a topic
  static constexpr std::size_t kMaxBatches = std::size_t{1} << 20;      // of a topic
  static constexpr std::size_t kMaxOutstanding = std::size_t{1} << 16;  // pieces, of a group
  static constexpr std::uint32_t kMaxFetchItems = 65'536;

  struct Options {
    NodeId home;
    Duration holder_lease = ObjectStore::kHolderLease;
    Duration lost_grace = ObjectStore::kLostGrace;  // after the last link to a holder broke
    // For how long a topic that has ended, and of which nothing is left, tells those who ask so.
    Duration ended_kept = kEndedKept;
    std::size_t max_topics = 65'536;
    std::size_t max_holders = 65'536;
    // As in ObjectStore::Options.
    std::function<bool(NodeId)> is_linked{};
    std::function<void(std::uint64_t waiter)> on_ready{};
  };
  struct Stats {
    std::size_t topics = 0, holders = 0, waiters = 0;
    std::uint64_t holders_lost = 0;
  };

  // Both outlive it. Batches that are appended are of that arena.
  StreamStore(const Clock& clock, Arena& arena, Options options);
  // Memory goes back, pinned or not.
  ~StreamStore();
  StreamStore(const StreamStore&) = delete;
  StreamStore& operator=(const StreamStore&) = delete;

  // --- Topics. Errors of all that name one: not_found. ---
  // The topic of that name, made if there is none. The first options that somebody gives count,
  // and the standard ones before that: consumers may come first. The same holds for the type of its
  // items; 0: any. Errors: invalid_argument (name, options), overload (max_topics), type_mismatch.
  [[nodiscard]] Result<TopicId> open(std::string_view name,
                                     const std::optional<TopicOptions>& options,
                                     std::uint64_t type = 0);
  [[nodiscard]] Result<TopicId> find(std::string_view name) const;
  // No more is appended: every group is told once it has acked everything. With an error, that is
  // what they are told then. Closing what has ended is fine, and changes nothing.
  [[nodiscard]] Status close(TopicId topic, std::optional<Error> why = std::nullopt);
  // Forgets the topic and its items, whoever waits for them. Leased ones stay readable.
  [[nodiscard]] Status remove(TopicId topic);

  // --- Producers ---
  // Before it appends. Errors: already_exists (a sole producer beside another), what the topic
  // ended with or shutting_down (it was closed), node_lost and overload (the holder).
  [[nodiscard]] Status produce(Member producer, TopicId topic, ProducerKind kind);
  // The offset of its first item. The batch is the topic's from here on, unless that fails or it
  // was a repetition: then the offset is that of the producer's last append. Errors:
  // would_block (the topic is full: try again when the waiter is called), too_large (for this
  // topic), permission (no producer of this topic), shutting_down or what the topic ended with,
  // overload and already_exists (the waiter).
  [[nodiscard]] Result<std::uint64_t> append(Member producer, TopicId topic, Batch& batch,
                                             const AppendOptions& options);

  // --- Consumers. Errors of all: permission (no consumer of that group). ---
  // Makes the group if there is none, and the holder one of its consumers. Where the group exists,
  // its start counts. Errors: not_found (topic, or an offset that is not kept), invalid_argument
  // (name; a filter other than the group's; an offset beyond the end), overload (kMaxGroups),
  // node_lost and overload (the holder).
  [[nodiscard]] Result<GroupId> join(Member consumer, TopicId topic, std::string_view group,
                                     const GroupOptions& options);
  // What it has not acked is delivered again, to others.
  [[nodiscard]] Status quit(Member consumer, GroupKey group);
  // All that the member is in this topic: what it has leased goes back, and if it is a sole
  // producer of a topic that is not closed, that is an error, as if its process had ended.
  void resign(Member member, TopicId topic);
  // Ends the group, for all its consumers.
  [[nodiscard]] Status remove_group(GroupKey group);

  // What waits to be delivered again comes first, then what is next; by offset, in each delivery.
  // The bytes stay where they are until the lease ends: everything is acked, or given back, or
  // done_reading(). Told that the topic has ended are those who would get nothing more: all is
  // acked but what the asker itself has. Errors: would_block (nothing there: try again when the
  // waiter is called), what the topic ended with, overload (too much is leased; the waiter),
  // already_exists (the waiter).
  [[nodiscard]] Result<Delivery> fetch(Member consumer, GroupKey group,
                                       const FetchOptions& options);
  // The items of these ranges are done. Late is better than never: what is still nobody else's
  // counts. No ranges: all of the lease. How many offsets it took off, with those the group does
  // not want. Errors: not_found (no such lease of this holder, or it has ended).
  [[nodiscard]] Result<std::uint64_t> ack(Member consumer, TopicId topic, LeaseId lease,
                                          std::span<const OffsetRange> ranges);
  // Delivered again to somebody at once. Errors: not_found.
  [[nodiscard]] Status give_back(Member consumer, TopicId topic, LeaseId lease);
  // The lease ends so much later than now, or sooner. Errors: not_found (also if it has lapsed).
  [[nodiscard]] Status extend(Member consumer, TopicId topic, LeaseId lease, Duration by);
  // The bytes have been copied: the memory may go although the lease goes on. Errors: not_found.
  [[nodiscard]] Status done_reading(Member consumer, TopicId topic, LeaseId lease);
  // The group goes on from there, for all its consumers; what they have leased is theirs no more.
  // Errors: not_found (not kept any more), invalid_argument (beyond the end).
  [[nodiscard]] Status seek(GroupKey group, Position to);

  // As ObjectStore's.
  void stop_waiting(std::uint64_t waiter);

  // --- Holders and time: as ObjectStore's ---
  bool renew(Holder holder);
  void leave(Holder holder);
  void lost(NodeId node);
  void cut_off(NodeId node);
  Time sweep();

  [[nodiscard]] Result<TopicStats> describe(TopicId topic) const;
  [[nodiscard]] Result<GroupStats> describe(GroupKey group) const;
  [[nodiscard]] std::vector<GroupStats> groups(TopicId topic) const;
  [[nodiscard]] std::vector<TopicStats> list(std::size_t at_most) const;
  [[nodiscard]] Stats stats() const;

 private:
  std::unique_ptr<StreamState> state_;
};

}  // namespace godwit::ref::stream
