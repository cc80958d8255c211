#include "ref/stream/producer_core.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"

namespace godwit::ref::stream {
ProducerCore::ProducerCore(std::shared_ptr<TopicOut> topic, const ProducerOptions& options)
    : topic_(std::move(topic)), options_([&] {
        ProducerOptions bounded = options;
        bounded.batch_items = std::clamp<std::uint32_t>(options.batch_items, 1, kMaxBatchItems);
        // Several fit into the topic, with their indices.
        const std::size_t most = std::min<std::size_t>(topic_->max_bytes(), kMaxBatchBytes) / 4;
        bounded.batch_bytes =
            std::clamp<std::size_t>(options.batch_bytes, 1, std::max<std::size_t>(most, 1));
        return bounded;
      }()) {}

Status ProducerCore::check_item(std::uint64_t bytes, std::string_view key) const {
  if (key.size() > kMaxMetadataBytes) {
    return fail(ErrorCode::too_large,
                "a key of {} bytes is longer than {}: make it part of the item", key.size(),
                kMaxMetadataBytes);
  }
  if (bytes > topic_->max_item_bytes()) {
    return fail(ErrorCode::too_large,
                "an item of {} bytes is beyond {}: put it as an object, and send its handle", bytes,
                topic_->max_item_bytes());
  }
  return {};
}

Status ProducerCore::send(std::span<const Bytes> parts, std::string_view key) {
  const std::size_t bytes = total_size(parts);
  GODWIT_CHECK(check_item(bytes, key));
  const std::lock_guard lock(mutex_);
  GODWIT_CHECK(make_way(bytes));
  if (bytes > options_.batch_bytes) return send_alone(parts, key);
  return send_with_others(parts, key);
}

Result<ItemDraft> ProducerCore::draft(std::uint64_t bytes, std::string_view key) {
  GODWIT_CHECK(check_item(bytes, key));
  const std::size_t image = ItemDraft::image_bytes(bytes, key.size());
  if (image > topic_->max_bytes()) {
    return fail(ErrorCode::too_large,
                "an item of {} bytes does not fit into topic '{}', which keeps {} at most: give it "
                "more max_bytes, or put the item as an object, and send its handle",
                bytes, topic_->topic(), topic_->max_bytes());
  }
  if (bytes > options_.batch_bytes) {
    GODWIT_TRY(auto room, topic_->room_for(image));
    if (room) return ItemDraft(topic_, *std::move(room), bytes, std::string(key));
  }
  Buffer memory = Buffer::allocate(bytes);
  if (memory.data() == nullptr && bytes != 0) {
    return fail(ErrorCode::resource_exhausted, "this process has no memory for an item of {} bytes",
                bytes);
  }
  return ItemDraft(topic_, std::move(memory), std::string(key));
}

Status ProducerCore::send(ItemDraft& draft) {
  if (!draft.is_for(*topic_)) {
    return fail(ErrorCode::invalid_argument,
                "this item was drafted by another producer than that of topic '{}': send it there",
                topic_->topic());
  }
  const Bytes bytes = draft.bytes();
  const std::lock_guard lock(mutex_);
  GODWIT_CHECK(make_way(bytes.size()));
  if (draft.in_place()) {
    GODWIT_CHECK(topic_->append_draft(draft.image(), options_.patience));
  } else if (bytes.size() > options_.batch_bytes) {
    GODWIT_CHECK(send_alone({&bytes, 1}, draft.key()));
  } else {
    draft.take();
    return send_with_others({&bytes, 1}, draft.key());
  }
  draft.take();
  return {};
}

// From here on it is the producer's, whether or not its batch can be delivered now.
Status ProducerCore::send_with_others(std::span<const Bytes> parts, std::string_view key) {
  add(parts, key);
  if (options_.linger.count() <= 0) return flush_within(options_.patience);
  arm_linger();
  return {};
}

Status ProducerCore::make_way(std::size_t bytes) {
  if (closed_) {
    return fail(ErrorCode::shutting_down, "topic '{}' was closed by this producer",
                topic_->topic());
  }
  const bool full = frozen_ || entries_.size() >= options_.batch_items ||
                    (!entries_.empty() && items_.size() + bytes > options_.batch_bytes);
  if (!full) return {};
  const Status sent = flush_within(options_.patience);
  if (sent || sent.error().code == ErrorCode::shutting_down) return sent;
  return fail(ErrorCode::overload,
              "{} items for topic '{}' could not be delivered, and this one was not taken: {}",
              entries_.size(), topic_->topic(), sent.error().message);
}

// A large item goes from where it lies, and is not kept for later.
Status ProducerCore::send_alone(std::span<const Bytes> parts, std::string_view key) {
  const std::size_t bytes = total_size(parts);
  const BatchView::Entry entry{static_cast<std::uint32_t>(bytes),
                               static_cast<std::uint32_t>(bytes + key.size())};
  std::vector<Bytes> all(parts.begin(), parts.end());
  all.push_back(bytes_of(key));
  Status sent = append({.entries = {&entry, 1}, .parts = all, .alone = true}, options_.patience);
  // Whether the broker has it may be unknown: the number is not used again for another batch.
  if (!sent) ++sequence_;
  return sent;
}

void ProducerCore::add(std::span<const Bytes> parts, std::string_view key) {
  items_.resize(BatchView::aligned(items_.size()));
  for (const Bytes part : parts) items_.insert(items_.end(), part.begin(), part.end());
  const auto bytes_end = static_cast<std::uint32_t>(items_.size());
  const Bytes metadata = bytes_of(key);
  items_.insert(items_.end(), metadata.begin(), metadata.end());
  entries_.push_back({bytes_end, static_cast<std::uint32_t>(items_.size())});
}

Status ProducerCore::flush() {
  const std::lock_guard lock(mutex_);
  return flush_within(options_.patience);
}

Status ProducerCore::flush_within(std::chrono::nanoseconds at_most) {
  if (entries_.empty()) return {};
  const Bytes items = items_;
  frozen_ = true;
  GODWIT_CHECK(append({.entries = entries_, .parts = {&items, 1}}, at_most));
  frozen_ = false;
  entries_.clear();
  items_.clear();
  return {};
}

Status ProducerCore::append(const PackedItems& items, std::chrono::nanoseconds at_most) {
  GODWIT_CHECK(topic_->append(sequence_ + 1, items, at_most));
  ++sequence_;
  return {};
}

// With the mutex held.
void ProducerCore::arm_linger() {
  if (std::exchange(linger_armed_, true)) return;
  topic_->call_later(options_.linger, [self = weak_from_this()] {
    if (const auto alive = self.lock()) alive->flush_in_background();
  });
}

void ProducerCore::flush_in_background() {
  const std::lock_guard lock(mutex_);
  linger_armed_ = false;
  const Status sent =
      flush_within(std::min<std::chrono::nanoseconds>(options_.patience, kInBackground));
  // What could not be sent is still there: the next send() or flush() says why, if it fails again.
  if (!sent && sent.error().code == ErrorCode::deadline) arm_linger();
}

Status ProducerCore::close(ErrorCode code, std::string_view why) {
  const std::lock_guard lock(mutex_);
  GODWIT_CHECK(flush_within(options_.patience));
  GODWIT_CHECK(topic_->close(code, why));
  closed_ = true;
  return {};
}

void ProducerCore::abandon() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(flush_within(kInBackground));
  entries_.clear();
}

}  // namespace godwit::ref::stream
