// A look into a topic, with its lock held.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/scheduler.hpp"
#include "godwit/error.hpp"
#include "ref/stream/state.hpp"
#include "ref/stream/topic.hpp"

namespace godwit::ref::stream {

// What must not happen under the lock happens when the visit is over: memory is freed, waiters are
// called, and the earlier life of a holder that came back loses what it has elsewhere.
class TopicVisit {
 public:
  // What is due has happened by then.
  TopicVisit(StreamState& state, TopicPointer topic);
  ~TopicVisit();
  TopicVisit(const TopicVisit&) = delete;
  TopicVisit& operator=(const TopicVisit&) = delete;

  [[nodiscard]] Topic& topic() noexcept { return *topic_; }
  [[nodiscard]] Time now() const noexcept { return now_; }
  // Errors: not_found (it was removed).
  [[nodiscard]] Status check_there() const;
  // Errors: what Holders::admit() says.
  [[nodiscard]] Result<Share*> admit(Member member);
  // Null: it has nothing of this topic.
  [[nodiscard]] Share* share_of(Member member) noexcept;
  // Errors: not_found (topic, group).
  [[nodiscard]] Result<Group*> group(GroupKey key);
  // Errors: not_found.
  [[nodiscard]] Result<Lease*> lease(Member member, LeaseId lease);

  // --- Who needs what. Memory that nobody needs is freed after the visit. ---
  enum class Need : std::uint8_t { more, less };
  void need(OffsetRange range, Need need);
  // To be called when something has changed for a batch, or for all of them.
  void settle(std::uint64_t number);
  void settle_all();
  // Drops what is kept for replay alone, the oldest first, if that makes so much room.
  [[nodiscard]] bool make_room(std::uint64_t bytes);
  void advance_replay();

  // --- Leases ---
  void pin(Lease& lease, std::uint64_t batch);
  void unpin(Lease& lease);
  // Only batches that the range touches and of which the lease has nothing more.
  void unpin(Lease& lease, OffsetRange done);
  // What it has is delivered again.
  void lapse(Lease& lease);
  void end(Lease& lease);
  // The group goes elsewhere: what is leased or next is not needed by it any more.
  void detach(Group& group);
  void remove_group(Group& group);
  void quit(Share& share, Group& group);

  // --- Ends ---
  void end_topic(std::optional<Error> why);
  void remove_topic();
  void let_go(const Holders::Life& life);
  void let_go(Member member);

  // --- Waiting ---
  // Errors: overload, already_exists.
  [[nodiscard]] Status wait_for_room(std::uint64_t waiter);
  [[nodiscard]] Status wait_for_items(Group& group, std::uint64_t waiter);
  void tell_room();
  void tell_items(Group& group);
  void tell_all_groups();

 private:
  void act();
  [[nodiscard]] Time next_time() const;
  void free(StoredBatch& batch);
  void drop_front();
  void let_go(Share& share);

  StreamState& state_;
  TopicPointer topic_;
  std::unique_lock<std::mutex> lock_;
  const Time now_;
  bool forget_ = false;
  Extent freed_;  // one is what most visits free, and takes no allocation
  std::vector<Extent> freed_more_;
  std::vector<std::uint64_t> ready_;
  std::optional<Holders::Life> superseded_;
};

}  // namespace godwit::ref::stream
