// A producer's side of a topic that a node is the home of.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ref/stream/broker.hpp"
#include "ref/stream/topic_access.hpp"

namespace godwit::ref::stream {

class NodeTopicOut final : public TopicOut {
 public:
  // Up to here a batch comes in the message, and waits there for room in the topic.
  static constexpr std::size_t kSmall = 12'000;
  // Where the home's memory cannot be mapped, up to here; beyond it is written piece by piece.
  static constexpr std::size_t kOneMessage = ObjectAccess::kPieceBytes;

  explicit NodeTopicOut(std::shared_ptr<TopicAccess> topic) : topic_(std::move(topic)) {}

  [[nodiscard]] const std::string& topic() const noexcept override { return topic_->topic(); }
  [[nodiscard]] std::uint64_t max_bytes() const noexcept override { return topic_->max_bytes(); }
  [[nodiscard]] std::size_t max_item_bytes() const noexcept override {
    return kMaxBatchBytes - kMaxMetadataBytes - 64;
  }
  [[nodiscard]] Status append(std::uint64_t sequence, const PackedItems& items,
                              std::chrono::nanoseconds at_most) override;
  [[nodiscard]] Result<std::optional<Draft>> room_for(std::size_t bytes) override;
  [[nodiscard]] Status append_draft(Draft& image, std::chrono::nanoseconds at_most) override;
  [[nodiscard]] Status close(ErrorCode code, std::string_view why) override;
  void call_later(std::chrono::nanoseconds after, std::function<void()> then) override;

 private:
  [[nodiscard]] Result<AnsweredItem> append_room(wire::StreamRequest request,
                                                 std::span<const Bytes> image,
                                                 std::chrono::nanoseconds at_most);
  // A room under its ticket.
  [[nodiscard]] Result<AnsweredItem> append_ticket(const wire::StreamRequest& request,
                                                   std::chrono::nanoseconds at_most);
  [[nodiscard]] Status ended(const Result<AnsweredItem>& done, std::size_t bytes,
                             std::chrono::nanoseconds at_most) const;

  const std::shared_ptr<TopicAccess> topic_;
  std::vector<std::byte> index_;  // used again
  std::vector<Bytes> image_;
};

}  // namespace godwit::ref::stream
