#include "ref/stream/refusals.hpp"

#include <string>

namespace godwit::ref::stream {

Refusal refuse_topic(TopicId topic, NodeId home) {
  return fail(ErrorCode::not_found,
              "home {} has no topic number {}: it was removed, or has ended long ago, or the home "
              "was started again; open it by name",
              to_hex(home.value), topic.value);
}

Refusal refuse_name(std::string_view name, NodeId home) {
  return fail(ErrorCode::not_found, "home {} has no topic '{}': open it first, or ask another home",
              to_hex(home.value), name);
}

Refusal refuse_group(const Topic& topic, GroupId group) {
  return fail(ErrorCode::not_found,
              "topic '{}' has no group number {}: it was removed, or ended with its last consumer; "
              "join it again",
              topic.name, group.value);
}

Refusal refuse_type(const Topic& topic) {
  return fail(ErrorCode::type_mismatch,
              "topic '{}' has items of another type: whoever opened it first decided", topic.name);
}

Refusal refuse_lease(const Topic& topic, LeaseId lease, Member member) {
  return fail(ErrorCode::not_found,
              "holder {} has no lease {} of topic '{}': all of it was acked or given back, or the "
              "holder was silent for too long; fetch again",
              to_hex(member.process.node.value), lease.value, topic.name);
}

Refusal refuse_lapsed(const Topic& topic, LeaseId lease) {
  return fail(ErrorCode::not_found,
              "lease {} of topic '{}' has lapsed, and its items are delivered again: ask for more "
              "time earlier, or for a longer lease",
              lease.value, topic.name);
}

Refusal refuse_waiter(const Topic& topic, std::uint64_t waiter, ErrorCode code) {
  if (code == ErrorCode::already_exists) {
    return fail(code,
                "waiter {} cannot wait at topic '{}': it waits already; give each wait a number of "
                "its own",
                waiter, topic.name);
  }
  return fail(code, "waiter {} cannot wait at topic '{}': too many wait here; try again later",
              waiter, topic.name);
}

Refusal refuse_ended(const Topic& topic) {
  if (topic.error) return Refusal(*topic.error);
  return fail(ErrorCode::shutting_down,
              "topic '{}' was closed after {} items: append to another one, or remove it first",
              topic.name, topic.end);
}

Refusal refuse_second_producer(const Topic& topic, Member member, Member other) {
  return fail(
      ErrorCode::already_exists,
      "holder {} cannot produce for topic '{}' beside holder {}, since one of them wants to "
      "be the only one: use another topic, or let both be one of many",
      to_hex(member.process.node.value), topic.name, to_hex(other.process.node.value));
}

Refusal refuse_producer(const Topic& topic, Member member) {
  return fail(
      ErrorCode::permission,
      "holder {} is no producer of topic '{}': call produce() first, and again after it was "
      "silent for too long",
      to_hex(member.process.node.value), topic.name);
}

Refusal refuse_consumer(const Topic& topic, const Group& group, Member member) {
  return fail(
      ErrorCode::permission,
      "holder {} is no consumer in group '{}' of topic '{}': join it first, and again after "
      "it was silent for too long",
      to_hex(member.process.node.value), group.name, topic.name);
}

Refusal refuse_full(const Topic& topic, std::uint64_t bytes) {
  if (bytes > topic.options.max_bytes) {
    return fail(ErrorCode::too_large,
                "a batch of {} bytes is beyond the {} of topic '{}': make batches smaller, or open "
                "the topic with more max_bytes",
                bytes, topic.options.max_bytes, topic.name);
  }
  return fail(ErrorCode::would_block,
              "topic '{}' has no room for {} bytes: {} of {} in {} batches wait to be acked; try "
              "again when consumers have caught up",
              topic.name, bytes, topic.kept_bytes - topic.idle_bytes, topic.options.max_bytes,
              topic.batches.size());
}

Refusal refuse_empty(const Topic& topic, const Group& group) {
  return fail(ErrorCode::would_block,
              "there is nothing for group '{}' of topic '{}' yet, after {} of {} items: wait",
              group.name, topic.name, group.next, topic.end);
}

Refusal refuse_more(const Topic& topic, std::string_view what, std::size_t limit) {
  return fail(ErrorCode::overload, "topic '{}' has {} {} already: end some first", topic.name,
              limit, what);
}

Error lost_producer(const Topic& topic, Member member) {
  return fail(ErrorCode::node_lost,
              "topic '{}' ended after {} items: its only producer {} died or left without closing "
              "it; start it again with a new topic",
              topic.name, topic.end, to_hex(member.process.node.value))
      .value();
}

Status check_name(std::string_view name, std::string_view what) {
  if (!name.empty() && name.size() <= StreamStore::kMaxName) return {};
  return fail(ErrorCode::invalid_argument, "the name of a {} has {} bytes: 1 to {} are possible",
              what, name.size(), StreamStore::kMaxName);
}

Status check_options(const TopicOptions& options) {
  if (options.max_bytes != 0 && options.replay.time >= Duration{} &&
      options.groups_awaited <= StreamStore::kMaxGroups) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "a topic of at most {} bytes that awaits {} groups and keeps items for {} ns cannot "
              "be: give it room, at most {} groups, and a time of 0 or more",
              options.max_bytes, options.groups_awaited, options.replay.time.count(),
              StreamStore::kMaxGroups);
}

Status check_options(const FetchOptions& options) {
  if (options.items != 0 && options.lease > Duration{}) return {};
  return fail(ErrorCode::invalid_argument,
              "a fetch of {} items for {} ns cannot get anything: ask for more than 0 of both",
              options.items, options.lease.count());
}

}  // namespace godwit::ref::stream
