// A producer: collects items into batches, and sends these one after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/stream_options.hpp"
#include "ref/stream/batch.hpp"
#include "ref/stream/broker.hpp"
#include "ref/stream/item_draft.hpp"

namespace godwit::ref::stream {

// Any thread. One batch is under way at a time, so that items stay in order; who sends more
// meanwhile waits for it.
class ProducerCore : public std::enable_shared_from_this<ProducerCore> {
 public:
  // How long what nobody waits for may wait for room.
  static constexpr std::chrono::seconds kInBackground{1};

  ProducerCore(std::shared_ptr<TopicOut> topic, const ProducerOptions& options);

  [[nodiscard]] Status send(std::span<const Bytes> parts, std::string_view key);
  // An item of so many bytes for the caller to write, and to send() then. Small ones are memory of
  // this process, and go together with others.
  [[nodiscard]] Result<ItemDraft> draft(std::uint64_t bytes, std::string_view key);
  // It is taken, unless that fails before it was.
  [[nodiscard]] Status send(ItemDraft& draft);
  [[nodiscard]] Status flush();
  // With an error, that is what consumers get.
  [[nodiscard]] Status close(ErrorCode code, std::string_view why);
  // What is left is sent, if that can be done soon.
  void abandon();

 private:
  [[nodiscard]] Status check_item(std::uint64_t bytes, std::string_view key) const;
  // All below with the mutex held.
  // Sends what was gathered before, if an item of so many bytes does not go with it.
  [[nodiscard]] Status make_way(std::size_t bytes);
  [[nodiscard]] Status send_alone(std::span<const Bytes> parts, std::string_view key);
  [[nodiscard]] Status send_with_others(std::span<const Bytes> parts, std::string_view key);
  [[nodiscard]] Status flush_within(std::chrono::nanoseconds at_most);
  void add(std::span<const Bytes> parts, std::string_view key);
  // One batch. Its number is used again until the broker has confirmed it: it is appended once.
  [[nodiscard]] Status append(const PackedItems& items, std::chrono::nanoseconds at_most);
  void arm_linger();
  void flush_in_background();

  const std::shared_ptr<TopicOut> topic_;
  const ProducerOptions options_;
  std::mutex mutex_;
  std::vector<BatchView::Entry> entries_;  // ends as they are without the index
  std::vector<std::byte> items_;
  std::uint64_t sequence_ = 0;  // of the last batch that was confirmed
  bool frozen_ = false;         // the batch was sent, and not confirmed: nothing is added to it
  bool linger_armed_ = false;
  bool closed_ = false;
};

}  // namespace godwit::ref::stream
