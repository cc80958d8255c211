// A consumer of a topic in Redis.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ref/stream/broker.hpp"
#include "ref/stream/redis/redis_broker.hpp"

namespace godwit::ref::stream {

// What the server says of a place where a group was to begin; nothing: it says something else.
[[nodiscard]] std::optional<Error> refused_place(std::string_view topic, StartAt start,
                                                 const Answer& answer);

// One consumer's part of its group, for as long as somebody has items of it; then it leaves.
class RedisGroup final : public Leases {
 public:
  // How long somebody who is done with items waits for a server that is away. What it was not told
  // is delivered again.
  static constexpr std::chrono::seconds kTellFor{1};

  struct Place {
    std::string topic;
    std::string id;
    std::string group;
    std::string consumer;
  };
  RedisGroup(std::shared_ptr<RedisBroker> broker, Place place)
      : broker_(std::move(broker)), place_(std::move(place)) {}
  ~RedisGroup() override;
  RedisGroup(const RedisGroup&) = delete;
  RedisGroup& operator=(const RedisGroup&) = delete;

  [[nodiscard]] RedisBroker& broker() const noexcept { return *broker_; }
  [[nodiscard]] const Place& place() const noexcept { return place_; }

  // Return when the server knows.
  void acked(const LeasedItems& items, std::vector<OffsetRange> ranges,
             std::vector<OffsetRange> rest) const override;
  void all_acked(const LeasedItems& items) const override;
  void given_back(const LeasedItems& items) const override;
  // Items that somebody in this process works on. The server may think that this consumer has more:
  // those that did not arrive, or whose acks did not. They come again after the lease, and a topic
  // has not ended before.
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
  void hold(std::uint64_t items) const noexcept { held_ += items; }
  // What becomes of the rest: as scripts.hpp has it.
  void tell(std::span<const OffsetRange> done, std::span<const OffsetRange> rest,
            std::string_view what) const;

 private:
  const std::shared_ptr<RedisBroker> broker_;
  const Place place_;
  mutable std::atomic<std::uint64_t> held_{0};
};

class RedisConsumer final : public ConsumerCore {
 public:
  static constexpr std::uint32_t kMaxItems = 10'000;  // of one delivery
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{32} << 20;
  static constexpr std::chrono::hours kMaxLease{24};
  // Where leases are short, how often those of others are looked at.
  static constexpr std::chrono::milliseconds kLookAgain{10};

  RedisConsumer(std::shared_ptr<RedisGroup> group, const ConsumerOptions& options)
      : group_(std::move(group)), options_(options) {}

  [[nodiscard]] Result<std::shared_ptr<LeasedItems>> next(
      std::chrono::nanoseconds at_most) override;
  [[nodiscard]] Status seek(StartAt to) override;

 private:
  [[nodiscard]] Result<std::shared_ptr<LeasedItems>> delivered(RedisReply reply);
  // Those that are objects are resolved.
  [[nodiscard]] Status fetch_objects(LeasedItems::Parts& parts,
                                     std::span<const std::size_t> which) const;

  const std::shared_ptr<RedisGroup> group_;
  const ConsumerOptions options_;
  std::string cursor_ = "0-0";  // how far what others have was looked at
};

}  // namespace godwit::ref::stream
