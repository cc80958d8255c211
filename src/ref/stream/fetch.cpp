// What consumers do.
#include <algorithm>

#include "ref/stream/gathering.hpp"
#include "ref/stream/refusals.hpp"
#include "ref/stream/stream_store.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {
namespace {

bool consumes(const Share* share, GroupId group) {
  return share != nullptr &&
         std::find(share->groups.begin(), share->groups.end(), group) != share->groups.end();
}

// There is nothing to be given out, and nobody else has anything that might come back.
bool is_over(Topic& topic, Group& group, const Share& share) {
  if (!topic.ended || group.next < topic.end) return false;
  bool others = false;
  group.outstanding.for_each([&](const Outstanding::Piece& piece) {
    const Lease* lease = topic.leases.find(piece.lease);
    others |= lease == nullptr || lease->share != &share;
  });
  return !others;
}

Result<Delivery> nothing(TopicVisit& visit, Group& group, const Share& share,
                         std::uint64_t waiter) {
  Topic& topic = visit.topic();
  if (is_over(topic, group, share)) {
    if (topic.error) return tl::unexpected(*topic.error);
    return Delivery{.lease = {}, .range = {topic.end, topic.end}, .slices = {}, .ended = true};
  }
  GODWIT_CHECK(visit.wait_for_items(group, waiter));
  return refuse_empty(topic, group);
}

}  // namespace

Result<Delivery> StreamStore::fetch(Member consumer, GroupKey key, const FetchOptions& options) {
  GODWIT_CHECK(check_options(options));
  GODWIT_TRY(const TopicPointer pointer, state_->get(key.topic));
  for (;;) {
    TopicVisit visit(*state_, pointer);
    GODWIT_TRY(Group * group, visit.group(key));
    Topic& topic = visit.topic();
    Share* share = visit.share_of(consumer);
    if (!consumes(share, key.group)) return refuse_consumer(topic, *group, consumer);
    const bool again = group->outstanding.first_returned().has_value();
    if (!again && group->next == topic.end) {
      return nothing(visit, *group, *share, options.waiter);
    }
    if (!again && group->outstanding.pieces() >= kMaxOutstanding) {
      return refuse_more(topic, "pieces that a group has not acked", kMaxOutstanding);
    }
    Lease* lease = topic.leases.add();
    if (lease == nullptr) return refuse_more(topic, "leases", Numbered<Lease>::kMax);
    Gathering gathering(visit, *group, *lease, options);
    gathering.gather();
    Delivery& delivery = gathering.delivery();
    if (!delivery.slices.empty()) {
      lease->share = share;
      lease->group = group;
      lease->range = delivery.range;
      lease->lapsed = false;
      share->leases.push_back(*lease);
      group->leases.push_back(*lease);
      topic.lease_times.set(*lease, after(visit.now(), options.lease));
      return std::move(delivery);
    }
    topic.leases.remove(*lease);
    if (!gathering.cut_short()) return nothing(visit, *group, *share, options.waiter);
  }
}

Result<std::uint64_t> StreamStore::ack(Member consumer, TopicId id, LeaseId number,
                                       std::span<const OffsetRange> ranges) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Lease * lease, visit.lease(consumer, number));
  Topic& topic = visit.topic();
  Group* group = lease->group;
  const OffsetRange whole = lease->range;
  const std::span<const OffsetRange> all(&whole, 1);
  std::uint64_t acked = 0;
  bool to_the_end = false;
  for (const OffsetRange& range : ranges.empty() ? all : ranges) {
    const OffsetRange part{std::max(range.begin, whole.begin), std::min(range.end, whole.end)};
    if (part.empty()) continue;
    to_the_end |= part.end == whole.end;
    if (group == nullptr) continue;
    group->outstanding.ack(
        part, number.value, [&](OffsetRange rest) { return topic.trim(*group, rest); },
        [&](OffsetRange removed) {
          acked += removed.size();
          visit.need(removed, TopicVisit::Need::less);
        });
  }
  // Of one that has lapsed nothing is left to be counted: its last item is the end of it.
  const bool over = lease->lapsed ? to_the_end : !group->outstanding.has(whole, number.value);
  if (over) {
    visit.end(*lease);
  } else if (!lease->lapsed) {
    for (const OffsetRange& range : ranges) visit.unpin(*lease, range);
  }
  if (acked != 0 && topic.ended && group != nullptr) visit.tell_items(*group);
  return acked;
}

Status StreamStore::give_back(Member consumer, TopicId id, LeaseId number) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Lease * lease, visit.lease(consumer, number));
  visit.end(*lease);
  return {};
}

Status StreamStore::extend(Member consumer, TopicId id, LeaseId number, Duration by) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Lease * lease, visit.lease(consumer, number));
  if (lease->lapsed) return refuse_lapsed(visit.topic(), number);
  visit.topic().lease_times.set(*lease, after(visit.now(), std::max(by, Duration{})));
  return {};
}

Status StreamStore::done_reading(Member consumer, TopicId id, LeaseId number) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_TRY(Lease * lease, visit.lease(consumer, number));
  visit.unpin(*lease);
  return {};
}

}  // namespace godwit::ref::stream
