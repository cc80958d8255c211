// The untyped side of streams: what Producer<T> and Consumer<T> are made of. Applications use
// those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"

namespace godwit::ref::stream {
class BrokerCore;
class ProducerCore;
class ConsumerCore;
class LeasedItems;
}  // namespace godwit::ref::stream

namespace godwit {

// What a topic keeps for those who come later, after everybody has acked it: a batch stays while
// one of these asks for it, and gives way, oldest first, where a new one would not fit.
struct Replay {
  std::uint64_t items = 0;  // at least the last so many
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds time{};  // at least what is younger
};

struct TopicOptions {
  std::uint64_t max_bytes = std::uint64_t{64}
                            << 20;  // of items that somebody needs: then send() waits
  Replay replay{};
  // Until there have been so many groups everything is kept: whoever comes late misses nothing.
  // 0: what is sent while there is no group is for nobody.
  std::uint32_t groups_awaited = 1;
};

struct ProducerOptions {
  // How the topic is to be. The first who says so decides; nobody: the standard.
  std::optional<TopicOptions> topic{};
  // Nobody else sends. If this process ends, or the producer is destroyed, before it closed the
  // topic, consumers get an error after the last item.
  bool sole = false;
  // Items are sent together: when there are so many, or so many bytes, or after `linger`. With a
  // linger of zero each is sent at once, and send() returns when the home has it.
  std::uint32_t batch_items = 1000;
  std::size_t batch_bytes = std::size_t{256} << 10;
  std::chrono::nanoseconds linger = std::chrono::milliseconds(1);
  // How long a full topic is waited for.
  std::chrono::nanoseconds patience = std::chrono::seconds(30);
};

// Where a new group begins.
class StartAt {
 public:
  enum class Kind : std::uint8_t { oldest = 0, end = 1, offset = 2 };
  static constexpr StartAt oldest() noexcept { return {Kind::oldest, 0}; }
  static constexpr StartAt end() noexcept { return {Kind::end, 0}; }
  static constexpr StartAt offset(std::uint64_t number) noexcept { return {Kind::offset, number}; }

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }

 private:
  constexpr StartAt(Kind kind, std::uint64_t number) noexcept : kind_(kind), number_(number) {}
  Kind kind_;
  std::uint64_t number_;
};

// Which items a group wants, decided at the home: what it does not want does not travel. All
// conditions hold.
struct ItemFilter {
  std::string key_prefix{};
  std::optional<std::string> key{};
  std::uint32_t one_in = 1;  // every n-th offset, the same for all groups
};

struct ConsumerOptions {
  StartAt start = StartAt::oldest();
  ItemFilter filter{};
  bool lasting = true;  // false: the group ends with the last of its consumers
  // What is not acked for so long is given to another consumer; each ack of the same delivery
  // begins it anew.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  // Of one delivery, and another is fetched meanwhile. Few, for items that take long: they are
  // spread over the consumers.
  std::uint32_t items = 1000;
  std::size_t bytes = std::size_t{4} << 20;
  bool fetch_ahead = true;
};

struct GroupStatus {
  std::string name;
  std::uint64_t next = 0;   // offset of the first item that was not given to anybody
  std::uint64_t acked = 0;  // offset up to which everything is acked
  std::uint64_t lag = 0;    // items not acked, and not known to be unwanted
  std::uint64_t leased = 0, delivered = 0, redelivered = 0, filtered = 0;
  std::uint32_t consumers = 0;
};

struct TopicStatus {
  std::string name;
  std::uint64_t oldest = 0;  // offset of the first item that is kept
  std::uint64_t end = 0;     // how many items there were
  std::uint64_t appended_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t refused = 0;  // sends that had to wait for room
  std::uint32_t producers = 0;
  std::uint32_t group_count = 0;
  bool ended = false;
  ErrorCode error = ErrorCode::none;  // that it ended with
  std::vector<GroupStatus> groups{};  // of topic_status() alone
};

// Where topics are: a node of the fleet, which is what most use, or a Redis server or cluster that
// is there anyway. A small value; copies share its connections. Any thread.
class GODWIT_API Broker {
 public:
  // The node itself. Valid as long as its fleet.
  Broker(const NodeHandle& node);  // NOLINT(google-explicit-constructor): it is one.
  // "redis://user:password@host:6379/0", "rediss://...", "redis+cluster://host:port,host:port",
  // with the options of docs/streams.md. Errors: bad_address, unsupported (another scheme, or a
  // server older than 7.0), unreachable, unauthorised, handshake_failed.
  [[nodiscard]] static Result<Broker> connect(std::string_view url);
  // The same; items larger than batch_bytes become objects at that node, and only their handles go
  // through the broker. Consumers need a fleet that has the node, too.
  [[nodiscard]] static Result<Broker> connect(std::string_view url, const NodeHandle& objects_at);

  // For people: of a node its name, else the URL without its password.
  [[nodiscard]] std::string name() const;

  // For the library.
  [[nodiscard]] ref::stream::BrokerCore& core() const noexcept { return *core_; }

 private:
  explicit Broker(std::shared_ptr<ref::stream::BrokerCore> core) noexcept
      : core_(std::move(core)) {}
  std::shared_ptr<ref::stream::BrokerCore> core_;
};

}  // namespace godwit

namespace godwit::detail {

// Errors are those that stream.hpp documents; invalid_argument of one that was moved from.
class GODWIT_API StreamProducer {
 public:
  [[nodiscard]] static Result<StreamProducer> open(const Broker& broker, std::string_view topic,
                                                   std::uint64_t type,
                                                   const ProducerOptions& options);
  StreamProducer(StreamProducer&&) noexcept;
  StreamProducer& operator=(StreamProducer&&) noexcept;
  ~StreamProducer();

  [[nodiscard]] Status send(ObjectParts parts, std::string_view key);
  [[nodiscard]] Status flush();
  [[nodiscard]] Status close();
  [[nodiscard]] Status abort(ErrorCode code, std::string_view why);

 private:
  explicit StreamProducer(std::shared_ptr<ref::stream::ProducerCore> core) noexcept;
  std::shared_ptr<ref::stream::ProducerCore> core_;
};

struct StreamItem {
  std::span<const std::byte> bytes;  // 16-byte aligned
  std::string_view key;
  std::uint64_t offset = 0;
  std::uint32_t deliveries = 1;
};

// Items that this process may work on for a while. A small value; copies share it. What was not
// acked when the last is gone goes to another consumer.
class GODWIT_API StreamDelivery {
 public:
  StreamDelivery() noexcept = default;
  explicit StreamDelivery(std::shared_ptr<ref::stream::LeasedItems> items) noexcept;

  // False: there is none, and nothing below may be called.
  explicit operator bool() const noexcept { return items_ != nullptr; }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] StreamItem item(std::size_t index) const noexcept;
  // Any thread. The bytes stay until the last copy is gone.
  void ack(std::size_t index) const;

 private:
  std::shared_ptr<ref::stream::LeasedItems> items_;
};

// invalid_argument of one that was moved from.
class GODWIT_API StreamConsumer {
 public:
  [[nodiscard]] static Result<StreamConsumer> join(const Broker& broker, std::string_view topic,
                                                   std::string_view group, std::uint64_t type,
                                                   const ConsumerOptions& options);
  StreamConsumer(StreamConsumer&&) noexcept;
  StreamConsumer& operator=(StreamConsumer&&) noexcept;
  ~StreamConsumer();

  // Nothing: the topic has ended.
  [[nodiscard]] Result<std::optional<StreamDelivery>> next(std::chrono::nanoseconds at_most);
  [[nodiscard]] Status seek(StartAt to);

 private:
  explicit StreamConsumer(std::shared_ptr<ref::stream::ConsumerCore> core) noexcept;
  std::shared_ptr<ref::stream::ConsumerCore> core_;
};

}  // namespace godwit::detail
