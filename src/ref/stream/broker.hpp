// What producers and consumers need of a broker: where topics are, whoever keeps them. A node is
// one (node_broker.hpp), a Redis server another (redis/redis_broker.hpp).
//
// The seam lies between batches and the broker: how items are gathered, decoded and acked is the
// same for all, and nothing here is called by item.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/stream_options.hpp"
#include "godwit/topic_status.hpp"
#include "ref/access/draft.hpp"
#include "ref/stream/batch.hpp"
#include "ref/stream/leased_items.hpp"

namespace godwit::ref::stream {

// Items as a producer has gathered them: as in a batch's image, without its index.
struct PackedItems {
  std::span<const BatchView::Entry> entries;  // ends, from the first item's beginning on
  std::span<const Bytes> parts;               // the items, one after another
  // One item, larger than batches are; its key is the last part.
  bool alone = false;
};

// A producer's side of a topic. One thread at a time, but for call_later(). Resigns when destroyed.
class TopicOut {
 public:
  virtual ~TopicOut() = default;

  [[nodiscard]] virtual const std::string& topic() const noexcept = 0;
  // What the topic keeps at most; and of one item.
  [[nodiscard]] virtual std::uint64_t max_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::size_t max_item_bytes() const noexcept = 0;

  // Returns when the broker has them. A number is appended once, however often it is sent. Errors:
  // deadline (there was no room for so long), too_large, shutting_down (the topic was closed) or
  // what it ended with, what becomes of connections.
  [[nodiscard]] virtual Status append(std::uint64_t sequence, const PackedItems& items,
                                      std::chrono::nanoseconds at_most) = 0;
  // Room for the image of one item, where the broker keeps those and this process can write to it;
  // nothing: it cannot. Any thread. Errors: those of ObjectAccess::begin_draft().
  [[nodiscard]] virtual Result<std::optional<Draft>> room_for(std::size_t bytes);
  // As append(), of the image that was written there: once, since there is one room. After an error
  // that is as it was. Errors: also not_found (the room is gone, or was appended before).
  [[nodiscard]] virtual Status append_draft(Draft& image, std::chrono::nanoseconds at_most);
  // With an error, that is what consumers get.
  [[nodiscard]] virtual Status close(ErrorCode code, std::string_view why) = 0;
  // Any thread. `then` runs on a thread that may wait.
  virtual void call_later(std::chrono::nanoseconds after, std::function<void()> then) = 0;
};

// A consumer's side of a topic, as one of a group. One thread at a time.
class ConsumerCore {
 public:
  virtual ~ConsumerCore() = default;

  // Null: the topic has ended. Errors: deadline, what the topic ended with, not_found (topic or
  // group were removed), what becomes of connections.
  [[nodiscard]] virtual Result<std::shared_ptr<LeasedItems>> next(
      std::chrono::nanoseconds at_most) = 0;
  [[nodiscard]] virtual Status seek(StartAt to) = 0;
};

// Any thread. Errors are those that godwit/stream.hpp documents.
class BrokerCore {
 public:
  virtual ~BrokerCore() = default;

  // For people.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<TopicOut>> produce(
      std::string_view topic, std::uint64_t type, const ProducerOptions& options) = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<ConsumerCore>> join(
      std::string_view topic, std::string_view group, std::uint64_t type,
      const ConsumerOptions& options) = 0;
  [[nodiscard]] virtual Result<std::vector<TopicStatus>> list(std::size_t at_most) = 0;
  [[nodiscard]] virtual Result<TopicStatus> status(std::string_view topic) = 0;
  [[nodiscard]] virtual Status remove(std::string_view topic) = 0;
  [[nodiscard]] virtual Status remove_group(std::string_view topic, std::string_view group) = 0;
};

}  // namespace godwit::ref::stream
