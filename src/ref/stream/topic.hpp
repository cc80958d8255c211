// What a home knows of a topic. All of it is looked at with the topic's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/numbered.hpp"
#include "ref/home/time_heap.hpp"
#include "ref/stream/stream_store.hpp"

namespace godwit::ref::stream {

struct StoredBatch {
  OffsetRange range;
  Extent extent;  // none: nobody needs it any more, but an older one is needed
  std::uint64_t size = 0;
  std::uint64_t appended_bytes = 0;  // to the topic, up to and with this one
  std::uint64_t needed = 0;          // items, each as often as there are groups that need it
  std::uint32_t pins = 0;            // by leases
  bool idle = false;                 // kept for replay alone
  Time appended;
};

struct OfHolder {};
struct OfGroup {};
struct Share;
struct Group;

// Its pieces are in its group's Outstanding. One that has lapsed has none, and pins its batches
// still: somebody may be reading.
struct Lease : NumberedItem, TimeHook, ListHook<OfHolder>, ListHook<OfGroup> {
  Share* share = nullptr;
  Group* group = nullptr;  // null: it was removed, or went elsewhere
  OffsetRange range;
  bool lapsed = false;
  std::vector<std::uint64_t> pinned;  // numbers of batches
};

struct Group {
  GroupId id;
  std::string name;
  Filter filter;
  bool lasting = true;
  bool awaited = false;  // there may be waiters
  std::uint64_t next = 0;
  Outstanding outstanding;
  IntrusiveList<Lease, OfGroup> leases;
  std::size_t consumers = 0;
  std::uint64_t delivered = 0, redelivered = 0, filtered = 0;
};

// What one member has of one topic.
struct Share {
  explicit Share(const Member& of) noexcept : member(of) {}

  Member member;
  std::uint64_t life = 0;  // see Holders
  std::optional<ProducerKind> produces;
  std::uint64_t sequence = 0;  // of its last append
  std::uint64_t appended = 0;  // and where that went
  std::vector<GroupId> groups;
  IntrusiveList<Lease, OfHolder> leases;
};

// Of any life of its process.
using MemberKey = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] inline MemberKey key_of(const Member& member) noexcept {
  return {member.process.node.value, member.number};
}

struct Topic : TimeHook {
  std::mutex mutex;
  TopicId id;
  std::string name;
  TopicOptions options;
  std::uint64_t type = 0;   // of its items, if somebody has said
  bool configured = false;  // the options are what somebody asked for
  bool ended = false;
  bool removed = false;  // no name finds it; leases keep memory
  bool awaited = false;  // there may be waiters for room
  std::optional<Error> error;
  Time scheduled = kNever;  // when the next sweep looks at it, or earlier
  Time forget_at = kNever;

  std::deque<StoredBatch> batches;
  std::uint64_t first_batch = 0;   // number of the first of them
  std::uint64_t replay_batch = 0;  // number of the first that is kept for replay
  std::uint64_t end = 0;           // offset of the next item
  std::uint64_t appended_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t idle_bytes = 0;  // of kept_bytes
  std::uint64_t kept_batches = 0;
  std::uint64_t refused = 0;

  std::uint32_t groups_made = 0;
  std::map<std::uint64_t, Group> groups;
  std::map<MemberKey, Share> shares;
  Numbered<Lease> leases;
  TimeHeap<Lease> lease_times;

  [[nodiscard]] std::uint64_t end_batch() const noexcept { return first_batch + batches.size(); }
  [[nodiscard]] StoredBatch& batch(std::uint64_t number) noexcept {
    return batches[static_cast<std::size_t>(number - first_batch)];
  }
  // The number of the batch with that offset, or of the first one after it.
  [[nodiscard]] std::uint64_t batch_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] Group* group_named(std::string_view name) noexcept;
  [[nodiscard]] Group* group_of(GroupId group) noexcept {
    const auto found = groups.find(group.value);
    return found == groups.end() ? nullptr : &found->second;
  }
  // The first offset that can be read, from that one on.
  [[nodiscard]] std::uint64_t readable_from(std::uint64_t offset) const noexcept;
  // Whether the group is to be given that item.
  [[nodiscard]] bool wants(const Group& group, std::uint64_t offset) noexcept;
  [[nodiscard]] OffsetRange trim(const Group& group, OffsetRange range) noexcept;
};

}  // namespace godwit::ref::stream
