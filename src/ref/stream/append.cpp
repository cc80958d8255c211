// What producers do.
#include "ref/stream/refusals.hpp"
#include "ref/stream/stream_store.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {

Status StreamStore::produce(Member producer, TopicId id, ProducerKind kind) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  GODWIT_TRY(Share * share, visit.admit(producer));
  Topic& topic = visit.topic();
  if (topic.ended) return refuse_ended(topic);
  for (const auto& [key, other] : topic.shares) {
    if (!other.produces || &other == share) continue;
    if (kind == ProducerKind::sole || *other.produces == ProducerKind::sole) {
      return refuse_second_producer(topic, producer, other.member);
    }
  }
  share->produces = kind;
  return {};
}

Result<std::uint64_t> StreamStore::append(Member producer, TopicId id, Batch& batch,
                                          const AppendOptions& options) {
  GODWIT_TRY(TopicPointer pointer, state_->get(id));
  TopicVisit visit(*state_, std::move(pointer));
  GODWIT_CHECK(visit.check_there());
  Topic& topic = visit.topic();
  Share* share = visit.share_of(producer);
  if (share == nullptr || !share->produces) {
    // A sole producer that was silent for too long wants to know what became of its topic.
    if (topic.ended) return refuse_ended(topic);
    return refuse_producer(topic, producer);
  }
  if (options.sequence != 0 && options.sequence <= share->sequence) return share->appended;
  if (topic.ended) return refuse_ended(topic);
  if (!batch) {
    return fail(ErrorCode::invalid_argument,
                "the batch for topic '{}' was appended before: make another one", topic.name);
  }
  if (!visit.make_room(batch.size())) {
    if (batch.size() <= topic.options.max_bytes) {
      ++topic.refused;
      GODWIT_CHECK(visit.wait_for_room(options.waiter));
    }
    return refuse_full(topic, batch.size());
  }
  const std::uint64_t first = topic.end;
  const std::size_t size = batch.size();
  topic.end += batch.items();
  topic.appended_bytes += size;
  topic.kept_bytes += size;
  ++topic.kept_batches;
  topic.batches.push_back({.range = {first, topic.end},
                           .extent = batch.take(),
                           .size = size,
                           .appended_bytes = topic.appended_bytes,
                           .needed = batch.items() * topic.groups.size(),
                           .appended = visit.now()});
  if (options.sequence != 0) share->sequence = options.sequence;
  share->appended = first;
  visit.settle(topic.end_batch() - 1);
  visit.advance_replay();
  visit.tell_all_groups();
  return first;
}

}  // namespace godwit::ref::stream
