// A producer's side of a topic in Redis.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ref/stream/broker.hpp"
#include "ref/stream/redis/redis_broker.hpp"

namespace godwit::ref::stream {

// Has a thread, which says from time to time that this producer is there, and calls what is to be
// called later. Destroyed, it waits for what that is doing, a few seconds at most.
class RedisTopicOut final : public TopicOut {
 public:
  // One that was silent for three of these may be dead (scripts.cpp).
  static constexpr std::chrono::seconds kBeat{2};

  struct Place {
    std::string topic;
    std::string id;
    std::string producer;
    std::uint64_t max_bytes = 0;
  };
  RedisTopicOut(std::shared_ptr<RedisBroker> broker, Place place);
  ~RedisTopicOut() override;
  RedisTopicOut(const RedisTopicOut&) = delete;
  RedisTopicOut& operator=(const RedisTopicOut&) = delete;

  [[nodiscard]] const std::string& topic() const noexcept override { return place_.topic; }
  [[nodiscard]] std::uint64_t max_bytes() const noexcept override { return place_.max_bytes; }
  [[nodiscard]] std::size_t max_item_bytes() const noexcept override;
  [[nodiscard]] Status append(std::uint64_t sequence, const PackedItems& items,
                              std::chrono::nanoseconds at_most) override;
  [[nodiscard]] Status close(ErrorCode code, std::string_view why) override;
  void call_later(std::chrono::nanoseconds after, std::function<void()> then) override;

 private:
  struct Later;
  enum class Kind : std::uint8_t { bytes = 0, handle = 1 };
  [[nodiscard]] Status append_image(std::uint64_t sequence, const PackedItems& items, Kind kind,
                                    std::chrono::nanoseconds at_most);
  [[nodiscard]] Status append_object(std::uint64_t sequence, const PackedItems& items,
                                     std::chrono::nanoseconds at_most);
  static void look_after(const std::shared_ptr<Later>& later,
                         const std::shared_ptr<RedisBroker>& broker, const Place& place);

  const std::shared_ptr<RedisBroker> broker_;
  const Place place_;
  std::vector<std::byte> index_;  // used again
  std::vector<Bytes> image_;
  const std::shared_ptr<Later> later_;
  std::thread thread_;
};

}  // namespace godwit::ref::stream
