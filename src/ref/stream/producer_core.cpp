#include "ref/stream/producer_core.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/run_later.hpp"

namespace godwit::ref::stream {
namespace {

using wire::StreamOp;

std::size_t total(std::span<const Bytes> parts) noexcept {
  std::size_t bytes = 0;
  for (const Bytes part : parts) bytes += part.size();
  return bytes;
}

// Padded, so that the items can follow.
Bytes write_index(std::span<const BatchView::Entry> entries, std::vector<std::byte>& to) {
  const std::size_t bytes = BatchView::aligned(BatchView::size_of_index(entries.size()));
  to.assign(bytes, std::byte{0});
  const auto count = static_cast<std::uint32_t>(entries.size());
  std::memcpy(to.data(), &count, sizeof count);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const BatchView::Entry entry{static_cast<std::uint32_t>(entries[i].bytes_end + bytes),
                                 static_cast<std::uint32_t>(entries[i].metadata_end + bytes)};
    std::memcpy(to.data() + BatchView::size_of_index(i), &entry, sizeof entry);
  }
  return to;
}

}  // namespace

ProducerCore::ProducerCore(std::shared_ptr<TopicAccess> topic, const ProducerOptions& options)
    : topic_(std::move(topic)), options_([&] {
        ProducerOptions bounded = options;
        bounded.batch_items = std::clamp<std::uint32_t>(options.batch_items, 1, kMaxBatchItems);
        // Several fit into the topic, with their indices.
        const std::size_t most = std::min<std::size_t>(topic_->max_bytes(), kMaxBatchBytes) / 4;
        bounded.batch_bytes =
            std::clamp<std::size_t>(options.batch_bytes, 1, std::max<std::size_t>(most, 1));
        return bounded;
      }()) {}

Status ProducerCore::send(std::span<const Bytes> parts, std::string_view key) {
  const std::size_t bytes = total(parts);
  if (key.size() > kMaxMetadataBytes) {
    return fail(ErrorCode::too_large,
                "a key of {} bytes is longer than {}: make it part of the item", key.size(),
                kMaxMetadataBytes);
  }
  if (bytes > kMaxBatchBytes - kMaxMetadataBytes - 64) {
    return fail(ErrorCode::too_large,
                "an item of {} bytes is beyond {}: put it as an object, and send its handle", bytes,
                kMaxBatchBytes - kMaxMetadataBytes - 64);
  }
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return fail(ErrorCode::shutting_down, "topic '{}' was closed by this producer",
                topic_->topic());
  }
  const bool full = frozen_ || entries_.size() >= options_.batch_items ||
                    (!entries_.empty() && items_.size() + bytes > options_.batch_bytes);
  if (full) {
    if (const Status sent = flush_within(options_.patience); !sent) {
      if (sent.error().code == ErrorCode::shutting_down) return sent;
      return fail(ErrorCode::overload,
                  "{} items for topic '{}' could not be delivered, and this one was not taken: {}",
                  entries_.size(), topic_->topic(), sent.error().message);
    }
  }
  if (bytes > options_.batch_bytes) return send_alone(parts, key);
  add(parts, key);
  if (options_.linger.count() <= 0) return flush_within(options_.patience);
  arm_linger();
  return {};
}

// A large item goes from where it lies, and is not kept for later.
Status ProducerCore::send_alone(std::span<const Bytes> parts, std::string_view key) {
  const std::size_t bytes = total(parts);
  const BatchView::Entry entry{static_cast<std::uint32_t>(bytes),
                               static_cast<std::uint32_t>(bytes + key.size())};
  std::vector<Bytes> image{write_index({&entry, 1}, index_)};
  image.insert(image.end(), parts.begin(), parts.end());
  image.push_back(bytes_of(key));
  Status sent = append(image, options_.patience);
  // Whether the home has it may be unknown: the number is not used again for another batch.
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
  const std::array<Bytes, 2> image{write_index(entries_, index_), items_};
  frozen_ = true;
  GODWIT_CHECK(append(image, at_most));
  frozen_ = false;
  entries_.clear();
  items_.clear();
  return {};
}

Status ProducerCore::append(std::span<const Bytes> image, std::chrono::nanoseconds at_most) {
  wire::StreamRequest request = topic_->request(StreamOp::append);
  request.a = sequence_ + 1;
  const std::size_t bytes = total(image);
  Result<AnsweredItem> done = fail(ErrorCode::would_block, "not asked yet");
  if (bytes <= kSmall) {
    done = topic_->ask(request, image, at_most);
  } else if (!topic_->maps() && bytes <= kOneMessage) {
    done = topic_->ask(request, image, at_most, Ask::slowly);
  }
  if (!done && done.error().code == ErrorCode::would_block) {
    done = append_room(request, image, at_most);
  }
  if (!done) {
    if (done.error().code != ErrorCode::deadline) return tl::unexpected(done.error());
    return fail(
        ErrorCode::deadline,
        "topic '{}' had no room for {} bytes within {} ms: its consumers are slow, or there "
        "are none; wait, let more consumers join, or give it more max_bytes",
        topic_->topic(), bytes,
        std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count());
  }
  ++sequence_;
  return {};
}

// Written first, then appended: so the home waits for room with no more than a ticket in its hand.
Result<AnsweredItem> ProducerCore::append_room(wire::StreamRequest request,
                                               std::span<const Bytes> image,
                                               std::chrono::nanoseconds at_most) {
  GODWIT_TRY(request.b, topic_->access().write_room(topic_->home(), image));
  detail::CallHandle call = topic_->start(request, {}, at_most);
  call.wait();
  auto done = finish_one(std::move(call));
  if (!done) topic_->access().abandon_room(topic_->home(), request.b);
  return done;
}

// With the mutex held.
void ProducerCore::arm_linger() {
  if (std::exchange(linger_armed_, true)) return;
  run_later(topic_->access().asking().caller.reactor(), options_.linger, weak_from_this(),
            &ProducerCore::linger_is_over);
}

// The reactor's owner may not wait.
void ProducerCore::linger_is_over() {
  topic_->access().asking().caller.reactor().offload(
      [self = weak_from_this()] {
        if (const auto alive = self.lock()) alive->flush_in_background();
      },
      [] {});
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
  wire::StreamRequest request = topic_->request(StreamOp::close);
  request.a = static_cast<std::uint64_t>(code);
  const Bytes text = bytes_of(why);
  GODWIT_TRY(const AnsweredItem done, topic_->ask(request, {&text, 1}));
  static_cast<void>(done);
  closed_ = true;
  return {};
}

void ProducerCore::abandon() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(flush_within(kInBackground));
  entries_.clear();
}

}  // namespace godwit::ref::stream
