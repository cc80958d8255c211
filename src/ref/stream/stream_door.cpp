// The door of Producer<T> and Consumer<T> to everything below them.
#include "godwit/detail/stream_door.hpp"

#include <utility>

#include "base/fail.hpp"
#include "godwit/stream.hpp"
#include "ref/stream/consumer_core.hpp"
#include "ref/stream/producer_core.hpp"
#include "ref/stream/stream_store.hpp"

namespace godwit {
namespace {

namespace stream = ref::stream;
using wire::StreamOp;

static_assert(static_cast<int>(StartAt::Kind::end) ==
              static_cast<int>(stream::Position::Kind::end));
static_assert(static_cast<int>(StartAt::Kind::offset) ==
              static_cast<int>(stream::Position::Kind::offset));

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

Result<std::uint64_t> find(const NodeHandle& node, std::string_view topic) {
  GODWIT_TRY(const auto answered, stream::ask_about_topics(node.objects(), NodeId{node.id()},
                                                           {.op = StreamOp::find}, topic));
  return answered.answer.fixed.value;
}

struct FoundTopic {
  std::uint64_t id = 0;
  TopicStatus status{};
  std::vector<std::uint64_t> groups{};  // their ids
};

Result<FoundTopic> describe(const NodeHandle& node, std::string_view topic) {
  FoundTopic found;
  GODWIT_TRY(found.id, find(node, topic));
  GODWIT_TRY(const auto answered,
             stream::ask_about_topics(node.objects(), NodeId{node.id()},
                                      {.op = StreamOp::describe, .topic = found.id}));
  wire::TailReader tail(answered.answer.tail);
  GODWIT_TRY(found.status, take_topic(tail));
  for (std::uint32_t i = 0; i < found.status.group_count; ++i) {
    GODWIT_TRY(FoundGroup group, take_group(tail));
    found.groups.push_back(group.id);
    found.status.groups.push_back(std::move(group.status));
  }
  return found;
}

Status tell(const NodeHandle& node, const wire::StreamRequest& request) {
  const auto told = stream::ask_about_topics(node.objects(), NodeId{node.id()}, request);
  if (!told) return tl::unexpected(told.error());
  return {};
}

}  // namespace

Result<std::vector<TopicStatus>> list_topics(const NodeHandle& node, std::size_t at_most) {
  GODWIT_TRY(const auto answered, stream::ask_about_topics(node.objects(), NodeId{node.id()},
                                                           {.op = StreamOp::list, .a = at_most}));
  std::vector<TopicStatus> topics;
  wire::TailReader tail(answered.answer.tail);
  while (!tail.rest().empty()) {
    GODWIT_TRY(TopicStatus topic, take_topic(tail));
    topics.push_back(std::move(topic));
  }
  return topics;
}

Result<TopicStatus> topic_status(const NodeHandle& node, std::string_view topic) {
  GODWIT_TRY(FoundTopic found, describe(node, topic));
  return std::move(found.status);
}

Status remove_topic(const NodeHandle& node, std::string_view topic) {
  GODWIT_TRY(const std::uint64_t id, find(node, topic));
  return tell(node, {.op = StreamOp::remove, .topic = id});
}

Status remove_group(const NodeHandle& node, std::string_view topic, std::string_view group) {
  GODWIT_TRY(const FoundTopic found, describe(node, topic));
  for (std::size_t i = 0; i < found.groups.size(); ++i) {
    if (found.status.groups[i].name != group) continue;
    return tell(node, {.op = StreamOp::remove_group, .topic = found.id, .group = found.groups[i]});
  }
  return fail(ErrorCode::not_found, "topic '{}' has no group '{}'", topic, group);
}

}  // namespace godwit

namespace godwit::detail {

namespace stream = ref::stream;

StreamProducer::StreamProducer(std::shared_ptr<stream::ProducerCore> core) noexcept
    : core_(std::move(core)) {}
StreamProducer::StreamProducer(StreamProducer&&) noexcept = default;
StreamProducer& StreamProducer::operator=(StreamProducer&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}
StreamProducer::~StreamProducer() {
  if (core_ != nullptr) core_->abandon();
}

Result<StreamProducer> StreamProducer::open(const NodeHandle& node, std::string_view topic,
                                            std::uint64_t type, const ProducerOptions& options) {
  const auto kind = options.sole ? stream::ProducerKind::sole : stream::ProducerKind::one_of_many;
  GODWIT_TRY(auto access,
             stream::TopicAccess::open(node.objects(), NodeId{node.id()},
                                       {.topic = topic,
                                        .type = type,
                                        .options = options.topic ? &*options.topic : nullptr,
                                        .producer = static_cast<std::uint64_t>(kind) + 1}));
  return StreamProducer(std::make_shared<stream::ProducerCore>(std::move(access), options));
}

Status StreamProducer::send(ObjectParts parts, std::string_view key) {
  return core_->send(parts, key);
}
Status StreamProducer::flush() {
  return core_->flush();
}
Status StreamProducer::close() {
  return core_->close(ErrorCode::none, {});
}
Status StreamProducer::abort(ErrorCode code, std::string_view why) {
  return core_->close(code == ErrorCode::none ? ErrorCode::cancelled : code, why);
}

StreamDelivery::StreamDelivery(std::shared_ptr<stream::LeasedItems> items) noexcept
    : items_(std::move(items)) {}
std::size_t StreamDelivery::size() const noexcept {
  return items_->size();
}
StreamItem StreamDelivery::item(std::size_t index) const noexcept {
  return items_->item(index);
}
void StreamDelivery::ack(std::size_t index) const {
  items_->ack(index);
}
void StreamDelivery::ack_all() const {
  items_->ack_all();
}

StreamConsumer::StreamConsumer(std::shared_ptr<stream::ConsumerCore> core) noexcept
    : core_(std::move(core)) {}
StreamConsumer::StreamConsumer(StreamConsumer&&) noexcept = default;
StreamConsumer& StreamConsumer::operator=(StreamConsumer&&) noexcept = default;
StreamConsumer::~StreamConsumer() = default;

Result<StreamConsumer> StreamConsumer::join(const NodeHandle& node, std::string_view topic,
                                            std::string_view group, std::uint64_t type,
                                            const ConsumerOptions& options) {
  GODWIT_TRY(auto access, stream::TopicAccess::open(node.objects(), NodeId{node.id()},
                                                    {.topic = topic, .type = type}));
  GODWIT_TRY(auto core, stream::ConsumerCore::join(std::move(access), group, options));
  return StreamConsumer(std::move(core));
}

Result<std::optional<StreamDelivery>> StreamConsumer::next(std::chrono::nanoseconds at_most) {
  GODWIT_TRY(auto items, core_->next(at_most));
  if (items == nullptr) return std::optional<StreamDelivery>();
  return std::optional(StreamDelivery(std::move(items)));
}

Status StreamConsumer::seek(StartAt to) {
  return core_->seek(to);
}

}  // namespace godwit::detail
