// An item that its producer writes where it will lie.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "ref/access/draft.hpp"
#include "ref/stream/batch.hpp"

namespace godwit::ref::stream {

class TopicOut;

// Has room in the broker's memory, for the image of a batch with this one item; or else memory of
// this process. Move-only; one thread at a time. Given up, its memory goes back.
class ItemDraft {
 public:
  // For that producer.
  ItemDraft(std::weak_ptr<const TopicOut> topic, Draft room, std::size_t bytes, std::string key)
      : topic_(std::move(topic)), room_(std::move(room)), bytes_(bytes), key_(std::move(key)) {}
  ItemDraft(std::weak_ptr<const TopicOut> topic, Buffer memory, std::string key)
      : topic_(std::move(topic)),
        own_(std::move(memory)),
        bytes_(own_.size()),
        key_(std::move(key)) {}

  [[nodiscard]] static constexpr std::size_t image_bytes(std::size_t bytes,
                                                         std::size_t key_bytes) noexcept {
    return kIndexBytes + bytes + key_bytes;
  }

  [[nodiscard]] bool is_for(const TopicOut& topic) const noexcept {
    return topic_.lock().get() == &topic;
  }
  [[nodiscard]] bool in_place() const noexcept { return room_.has_value(); }
  [[nodiscard]] MutableBytes bytes() noexcept {
    return room_ ? room_->bytes().subspan(kIndexBytes, bytes_) : own_.mutable_view();
  }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  // In place: with what the image has around the item.
  [[nodiscard]] Draft& image();
  // The producer has it, whatever becomes of its batch: it is not to be sent again.
  void take() noexcept { taken_ = true; }
  [[nodiscard]] bool is_taken() const noexcept { return taken_; }

 private:
  static constexpr std::size_t kIndexBytes = BatchView::aligned(BatchView::size_of_index(1));

  std::weak_ptr<const TopicOut> topic_;
  std::optional<Draft> room_;
  Buffer own_;
  std::size_t bytes_;
  std::string key_;
  bool finished_ = false;
  bool taken_ = false;
};

}  // namespace godwit::ref::stream
