#include "ref/stream/node_broker.hpp"

#include <utility>

#include "base/fail.hpp"
#include "ref/stream/node_consumer.hpp"
#include "ref/stream/node_producer.hpp"
#include "ref/stream/stream_store.hpp"

namespace godwit::ref::stream {
namespace {

using wire::StreamOp;

static_assert(static_cast<int>(StartAt::Kind::end) == static_cast<int>(Position::Kind::end));
static_assert(static_cast<int>(StartAt::Kind::offset) == static_cast<int>(Position::Kind::offset));

Result<TopicStatus> take_topic(wire::TailReader& tail) {
  GODWIT_TRY(const auto facts, tail.take<wire::TopicFacts>());
  GODWIT_TRY(const std::string_view name, tail.take_text(facts.name_bytes));
  return TopicStatus{.name = std::string(name),
                     .oldest = facts.oldest,
                     .end = facts.end,
                     .appended_bytes = facts.appended_bytes,
                     .kept_bytes = facts.kept_bytes,
                     .refused = facts.refused,
                     .producers = facts.producers,
                     .group_count = facts.groups,
                     .ended = facts.ended != 0,
                     .error = static_cast<ErrorCode>(facts.error)};
}

struct FoundGroup {
  std::uint64_t id = 0;
  GroupStatus status{};
};

Result<FoundGroup> take_group(wire::TailReader& tail) {
  GODWIT_TRY(const auto facts, tail.take<wire::GroupFacts>());
  GODWIT_TRY(const std::string_view name, tail.take_text(facts.name_bytes));
  return FoundGroup{facts.group,
                    {.name = std::string(name),
                     .next = facts.next,
                     .acked = facts.acked,
                     .lag = facts.lag,
                     .leased = facts.leased,
                     .delivered = facts.delivered,
                     .redelivered = facts.redelivered,
                     .filtered = facts.filtered,
                     .consumers = facts.consumers}};
}

}  // namespace

Result<std::shared_ptr<TopicOut>> NodeBroker::produce(std::string_view topic, std::uint64_t type,
                                                      const ProducerOptions& options) {
  const auto kind = options.sole ? ProducerKind::sole : ProducerKind::one_of_many;
  GODWIT_TRY(auto access, TopicAccess::open(node_.objects(), NodeId{node_.id()},
                                            {.topic = topic,
                                             .type = type,
                                             .options = options.topic ? &*options.topic : nullptr,
                                             .producer = static_cast<std::uint64_t>(kind) + 1}));
  return std::make_shared<NodeTopicOut>(std::move(access));
}

Result<std::shared_ptr<ConsumerCore>> NodeBroker::join(std::string_view topic,
                                                       std::string_view group, std::uint64_t type,
                                                       const ConsumerOptions& options) {
  GODWIT_TRY(auto access, TopicAccess::open(node_.objects(), NodeId{node_.id()},
                                            {.topic = topic, .type = type}));
  return NodeConsumer::join(std::move(access), group, options);
}

Result<AnsweredItem> NodeBroker::ask(const wire::StreamRequest& request,
                                     std::string_view tail) const {
  return ask_about_topics(node_.objects(), NodeId{node_.id()}, request, tail);
}

Status NodeBroker::tell(const wire::StreamRequest& request) const {
  const auto told = ask(request);
  if (!told) return tl::unexpected(told.error());
  return {};
}

Result<std::uint64_t> NodeBroker::find(std::string_view topic) const {
  GODWIT_TRY(const auto answered, ask({.op = StreamOp::find}, topic));
  return answered.answer.fixed.value;
}

Result<NodeBroker::Described> NodeBroker::describe(std::string_view topic) const {
  Described found;
  GODWIT_TRY(found.id, find(topic));
  GODWIT_TRY(const auto answered, ask({.op = StreamOp::describe, .topic = found.id}));
  wire::TailReader tail(answered.answer.tail);
  GODWIT_TRY(found.status, take_topic(tail));
  for (std::uint32_t i = 0; i < found.status.group_count; ++i) {
    GODWIT_TRY(FoundGroup group, take_group(tail));
    found.groups.push_back(group.id);
    found.status.groups.push_back(std::move(group.status));
  }
  return found;
}

Result<std::vector<TopicStatus>> NodeBroker::list(std::size_t at_most) {
  GODWIT_TRY(const auto answered, ask({.op = StreamOp::list, .a = at_most}));
  std::vector<TopicStatus> topics;
  wire::TailReader tail(answered.answer.tail);
  while (!tail.rest().empty()) {
    GODWIT_TRY(TopicStatus topic, take_topic(tail));
    topics.push_back(std::move(topic));
  }
  return topics;
}

Result<TopicStatus> NodeBroker::status(std::string_view topic) {
  GODWIT_TRY(Described found, describe(topic));
  return std::move(found.status);
}

Status NodeBroker::remove(std::string_view topic) {
  GODWIT_TRY(const std::uint64_t id, find(topic));
  return tell({.op = StreamOp::remove, .topic = id});
}

Status NodeBroker::remove_group(std::string_view topic, std::string_view group) {
  GODWIT_TRY(const Described found, describe(topic));
  for (std::size_t i = 0; i < found.groups.size(); ++i) {
    if (found.status.groups[i].name != group) continue;
    return tell({.op = StreamOp::remove_group, .topic = found.id, .group = found.groups[i]});
  }
  return fail(ErrorCode::not_found, "topic '{}' has no group '{}'", topic, group);
}

}  // namespace godwit::ref::stream
