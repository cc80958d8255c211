// The untyped side of streams: what Producer<T> and Consumer<T> are made of. Applications use
// those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "godwit/broker.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/stream_options.hpp"

namespace godwit::ref::stream {
class ProducerCore;
class ConsumerCore;
class ItemDraft;
class LeasedItems;
}  // namespace godwit::ref::stream

namespace godwit::detail {

// Of one item. One that was sent or moved from has nothing.
class GODWIT_API StreamDraft {
 public:
  StreamDraft(StreamDraft&&) noexcept;
  StreamDraft& operator=(StreamDraft&&) noexcept;
  ~StreamDraft();

  // Empty if it has nothing.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;
  [[nodiscard]] bool in_place() const noexcept;

 private:
  friend class StreamProducer;
  explicit StreamDraft(std::unique_ptr<ref::stream::ItemDraft> item) noexcept;
  std::unique_ptr<ref::stream::ItemDraft> item_;
};

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
  [[nodiscard]] Result<StreamDraft> draft(std::uint64_t bytes, std::string_view key) const;
  // Leaves it without anything once it was taken.
  [[nodiscard]] Status send(StreamDraft& item);
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
