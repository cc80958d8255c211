// The door of Producer<T> and Consumer<T> to everything below them.
#include "godwit/detail/stream_door.hpp"

#include <utility>

#include "base/fail.hpp"
#include "godwit/stream.hpp"
#include "ref/stream/item_draft.hpp"
#include "ref/stream/node_broker.hpp"
#include "ref/stream/producer_core.hpp"
#include "ref/stream/redis/redis_broker.hpp"

namespace godwit {

namespace stream = ref::stream;

Broker::Broker(const NodeHandle& node) : core_(std::make_shared<stream::NodeBroker>(node)) {}

Result<Broker> Broker::connect(std::string_view url) {
  GODWIT_TRY(auto core, stream::RedisBroker::connect(url, nullptr));
  return Broker(std::move(core));
}

Result<Broker> Broker::connect(std::string_view url, const NodeHandle& objects_at) {
  GODWIT_TRY(auto core, stream::RedisBroker::connect(url, &objects_at));
  return Broker(std::move(core));
}

std::string Broker::name() const {
  return core_->name();
}

Result<std::vector<TopicStatus>> list_topics(const Broker& broker, std::size_t at_most) {
  return broker.core().list(at_most);
}

Result<TopicStatus> topic_status(const Broker& broker, std::string_view topic) {
  return broker.core().status(topic);
}

Status remove_topic(const Broker& broker, std::string_view topic) {
  return broker.core().remove(topic);
}

Status remove_group(const Broker& broker, std::string_view topic, std::string_view group) {
  return broker.core().remove_group(topic, group);
}

}  // namespace godwit

namespace godwit::detail {

namespace stream = ref::stream;

namespace {

tl::unexpected<Error> moved_from(const char* which) {
  return fail(ErrorCode::invalid_argument, "this {} was moved from: use the one it is now", which);
}

}  // namespace

StreamProducer::StreamProducer(std::shared_ptr<stream::ProducerCore> core) noexcept
    : core_(std::move(core)) {}
StreamProducer::StreamProducer(StreamProducer&&) noexcept = default;
StreamProducer& StreamProducer::operator=(StreamProducer&& other) noexcept {
  StreamProducer taken(std::move(other));
  std::swap(core_, taken.core_);  // the one before ends here, and not with `other`
  return *this;
}
StreamProducer::~StreamProducer() {
  if (core_ != nullptr) core_->abandon();
}

Result<StreamProducer> StreamProducer::open(const Broker& broker, std::string_view topic,
                                            std::uint64_t type, const ProducerOptions& options) {
  GODWIT_TRY(auto out, broker.core().produce(topic, type, options));
  return StreamProducer(std::make_shared<stream::ProducerCore>(std::move(out), options));
}

Status StreamProducer::send(ObjectParts parts, std::string_view key) {
  if (core_ == nullptr) return moved_from("Producer");
  return core_->send(parts, key);
}
Status StreamProducer::flush() {
  if (core_ == nullptr) return moved_from("Producer");
  return core_->flush();
}
Status StreamProducer::close() {
  if (core_ == nullptr) return moved_from("Producer");
  return core_->close(ErrorCode::none, {});
}
Status StreamProducer::abort(ErrorCode code, std::string_view why) {
  if (core_ == nullptr) return moved_from("Producer");
  return core_->close(code == ErrorCode::none ? ErrorCode::cancelled : code, why);
}

Result<StreamDraft> StreamProducer::draft(std::uint64_t bytes, std::string_view key) const {
  if (core_ == nullptr) return moved_from("Producer");
  GODWIT_TRY(stream::ItemDraft item, core_->draft(bytes, key));
  return StreamDraft(std::make_unique<stream::ItemDraft>(std::move(item)));
}
Status StreamProducer::send(StreamDraft& item) {
  if (core_ == nullptr) return moved_from("Producer");
  if (item.item_ == nullptr) {
    return fail(ErrorCode::invalid_argument,
                "this draft has nothing: it was sent or moved from, make another one");
  }
  Status sent = core_->send(*item.item_);
  if (item.item_->is_taken()) item.item_.reset();
  return sent;
}

StreamDraft::StreamDraft(std::unique_ptr<stream::ItemDraft> item) noexcept
    : item_(std::move(item)) {}
StreamDraft::StreamDraft(StreamDraft&&) noexcept = default;
StreamDraft& StreamDraft::operator=(StreamDraft&&) noexcept = default;
StreamDraft::~StreamDraft() = default;
std::span<std::byte> StreamDraft::bytes() const noexcept {
  return item_ != nullptr ? item_->bytes() : std::span<std::byte>();
}
bool StreamDraft::in_place() const noexcept {
  return item_ != nullptr && item_->in_place();
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

StreamConsumer::StreamConsumer(std::shared_ptr<stream::ConsumerCore> core) noexcept
    : core_(std::move(core)) {}
StreamConsumer::StreamConsumer(StreamConsumer&&) noexcept = default;
StreamConsumer& StreamConsumer::operator=(StreamConsumer&&) noexcept = default;
StreamConsumer::~StreamConsumer() = default;

Result<StreamConsumer> StreamConsumer::join(const Broker& broker, std::string_view topic,
                                            std::string_view group, std::uint64_t type,
                                            const ConsumerOptions& options) {
  GODWIT_TRY(auto core, broker.core().join(topic, group, type, options));
  return StreamConsumer(std::move(core));
}

Result<std::optional<StreamDelivery>> StreamConsumer::next(std::chrono::nanoseconds at_most) {
  if (core_ == nullptr) return moved_from("Consumer");
  GODWIT_TRY(auto items, core_->next(at_most));
  if (items == nullptr) return std::optional<StreamDelivery>();
  return std::optional(StreamDelivery(std::move(items)));
}

Status StreamConsumer::seek(StartAt to) {
  if (core_ == nullptr) return moved_from("Consumer");
  return core_->seek(to);
}

}  // namespace godwit::detail
