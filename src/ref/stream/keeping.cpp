// Which batches are kept, and who waits for them or for their room.
#include <algorithm>
#include <cstring>

#include "ref/stream/refusals.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {
namespace {

// Waiters know objects: the place is a topic and one of its groups, or none for room.
ObjectId place_of(TopicId topic, GroupId group) noexcept {
  ObjectId place;
  std::memcpy(place.bytes.data(), &topic.value, sizeof topic.value);
  std::memcpy(place.bytes.data() + sizeof topic.value, &group.value, sizeof group.value);
  return place;
}

}  // namespace

void TopicVisit::need(OffsetRange range, Need need) {
  if (range.empty()) return;
  for (std::uint64_t number = topic_->batch_at(range.begin); number < topic_->end_batch();
       ++number) {
    StoredBatch& batch = topic_->batch(number);
    if (batch.range.begin >= range.end) break;
    if (!batch.extent) continue;
    const OffsetRange common{std::max(range.begin, batch.range.begin),
                             std::min(range.end, batch.range.end)};
    if (need == Need::more) {
      batch.needed += common.size();
    } else {
      batch.needed -= common.size();
    }
    settle(number);
  }
  if (need == Need::less) drop_front();
}

void TopicVisit::settle(std::uint64_t number) {
  StoredBatch& batch = topic_->batch(number);
  if (!batch.extent) return;
  const bool held =
      batch.needed != 0 || batch.pins != 0 || topic_->groups_made < topic_->options.groups_awaited;
  const bool idle = !held && number >= topic_->replay_batch;
  if (idle != batch.idle) {
    batch.idle = idle;
    topic_->idle_bytes += idle ? batch.size : 0 - batch.size;
    if (idle) tell_room();  // it gives way to a new one
  }
  if (!held && !idle) free(batch);
}

void TopicVisit::settle_all() {
  for (std::uint64_t number = topic_->first_batch; number < topic_->end_batch(); ++number) {
    settle(number);
  }
  drop_front();
}

void TopicVisit::free(StoredBatch& batch) {
  if (!freed_) {
    freed_ = batch.extent;
  } else {
    freed_more_.push_back(batch.extent);
  }
  batch.extent = {};
  if (batch.idle) topic_->idle_bytes -= batch.size;
  batch.idle = false;
  topic_->kept_bytes -= batch.size;
  --topic_->kept_batches;
  tell_room();
}

void TopicVisit::drop_front() {
  while (!topic_->batches.empty() && !topic_->batches.front().extent) {
    topic_->batches.pop_front();
    ++topic_->first_batch;
    if (topic_->batches.size() + 1 == StreamStore::kMaxBatches) tell_room();
  }
  topic_->replay_batch = std::max(topic_->replay_batch, topic_->first_batch);
  const bool over = topic_->ended && !topic_->removed && topic_->batches.empty();
  if (over && topic_->forget_at == kNever) {
    topic_->forget_at = after(now_, state_.options.ended_kept);
  }
}

bool TopicVisit::make_room(std::uint64_t bytes) {
  const std::uint64_t limit = topic_->options.max_bytes;
  const auto fits = [&](std::uint64_t kept) { return kept <= limit && bytes <= limit - kept; };
  if (!fits(topic_->kept_bytes - topic_->idle_bytes)) return false;
  for (std::uint64_t number = topic_->first_batch; !fits(topic_->kept_bytes); ++number) {
    if (StoredBatch& batch = topic_->batch(number); batch.idle) free(batch);
  }
  drop_front();
  return topic_->batches.size() < StreamStore::kMaxBatches;
}

void TopicVisit::advance_replay() {
  const Replay& replay = topic_->options.replay;
  while (topic_->replay_batch < topic_->end_batch()) {
    const StoredBatch& batch = topic_->batch(topic_->replay_batch);
    if (topic_->end - batch.range.end < replay.items) break;
    if (topic_->appended_bytes - batch.appended_bytes < replay.bytes) break;
    if (replay.time > Duration{} && after(batch.appended, replay.time) > now_) break;
    settle(topic_->replay_batch++);
  }
  drop_front();
}

Status TopicVisit::wait_for_room(std::uint64_t waiter) {
  if (waiter == 0) return {};
  if (auto added = state_.waiters.add(place_of(topic_->id, {}), 0, waiter); !added) {
    return refuse_waiter(*topic_, waiter, added.error().code);
  }
  topic_->awaited = true;
  return {};
}

Status TopicVisit::wait_for_items(Group& group, std::uint64_t waiter) {
  if (waiter == 0) return {};
  if (auto added = state_.waiters.add(place_of(topic_->id, group.id), 0, waiter); !added) {
    return refuse_waiter(*topic_, waiter, added.error().code);
  }
  group.awaited = true;
  return {};
}

void TopicVisit::tell_room() {
  if (topic_->awaited) topic_->awaited = state_.waiters.take(place_of(topic_->id, {}), 1, ready_);
}

void TopicVisit::tell_items(Group& group) {
  if (group.awaited) {
    group.awaited = state_.waiters.take(place_of(topic_->id, group.id), 1, ready_);
  }
}

void TopicVisit::tell_all_groups() {
  for (auto& [number, group] : topic_->groups) tell_items(group);
}

}  // namespace godwit::ref::stream
