// An item that its producer writes where it will lie.
#pragma once

#include <cstddef>
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
  ItemDraft(const TopicOut& topic, Draft room, std::size_t bytes, std::string key) noexcept
      : topic_(&topic), room_(std::move(room)), bytes_(bytes), key_(std::move(key)) {}
  ItemDraft(const TopicOut& topic, Buffer memory, std::string key) noexcept
      : topic_(&topic), own_(std::move(memory)), bytes_(own_.size()), key_(std::move(key)) {}

  [[nodiscard]] static constexpr std::size_t image_bytes(std::size_t bytes,
                                                         std::size_t key_bytes) noexcept {
    return kIndexBytes + bytes + key_bytes;
  }

  // The topic that it is for, which may be gone by now.
  [[nodiscard]] const TopicOut* topic() const noexcept { return topic_; }
  [[nodiscard]] bool in_place() const noexcept { return room_.has_value(); }
  [[nodiscard]] MutableBytes bytes() noexcept {
    return room_ ? room_->bytes().subspan(kIndexBytes, bytes_) : own_.mutable_view();
  }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  // In place: writes what the image has around the item.
  [[nodiscard]] Draft& finish_image();

 private:
  static constexpr std::size_t kIndexBytes = BatchView::aligned(BatchView::size_of_index(1));

  const TopicOut* topic_;
  std::optional<Draft> room_;
  Buffer own_;
  std::size_t bytes_;
  std::string key_;
};

}  // namespace godwit::ref::stream
