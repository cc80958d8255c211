// A consumer: fetches what its group is to be given, and acks what it has done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "godwit/detail/stream_door.hpp"
#include "godwit/error.hpp"
#include "ref/stream/batch.hpp"
#include "ref/stream/outstanding.hpp"
#include "ref/stream/topic_access.hpp"

namespace godwit::ref::stream {

// The items of one lease. Any thread. When it ends the home is told of what was acked, and the rest
// goes to another consumer.
class LeasedItems {
 public:
  // While items are acked one by one, the home is told so often, and the lease begins anew.
  static constexpr std::chrono::milliseconds kTellEvery{100};

  struct Slice {
    std::uint64_t first = 0;
    std::uint32_t items = 0;
    std::uint32_t deliveries = 1;
    std::uint32_t index = 0;
    std::uint32_t batch_items = 0;
    Bytes image{};
    std::size_t number = 0;  // of its first item, in the delivery
  };
  struct Parts {
    std::uint64_t lease = 0;
    std::chrono::nanoseconds lease_time{};
    std::vector<Slice> slices{};
    std::vector<std::shared_ptr<const void>> keeps{};  // what the images lie in
  };

  LeasedItems(std::shared_ptr<const TopicAccess> topic, Parts parts);
  ~LeasedItems();
  LeasedItems(const LeasedItems&) = delete;
  LeasedItems& operator=(const LeasedItems&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return acked_.size(); }
  [[nodiscard]] detail::StreamItem item(std::size_t index) const noexcept;
  void ack(std::size_t index);
  void ack_all();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] const Slice& slice_of(std::size_t index) const noexcept;
  // With the mutex held: acked items that the home has not been told of.
  [[nodiscard]] std::vector<OffsetRange> news();
  void tell(std::vector<OffsetRange> ranges, bool and_goes_on) const;

  const std::shared_ptr<const TopicAccess> topic_;
  const Parts parts_;
  std::mutex mutex_;
  enum class Ack : std::uint8_t { none, new_one, told };
  std::vector<Ack> acked_;
  std::size_t acks_ = 0;
  Clock::time_point told_at_ = Clock::now();
};

// One thread at a time.
class ConsumerCore {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ConsumerCore>> join(
      std::shared_ptr<TopicAccess> topic, std::string_view group, const ConsumerOptions& options);
  ConsumerCore(std::shared_ptr<TopicAccess> topic, const ConsumerOptions& options)
      : topic_(std::move(topic)), options_(options) {}

  // Null: the topic has ended. Errors: those of StreamStore::fetch(), deadline.
  [[nodiscard]] Result<std::shared_ptr<LeasedItems>> next(std::chrono::nanoseconds at_most);
  [[nodiscard]] Status seek(StartAt to);

 private:
  using Clock = std::chrono::steady_clock;
  // Of a question that waits at the home; then it is asked anew.
  static constexpr std::chrono::seconds kAskFor{60};

  void ask();
  [[nodiscard]] Result<LeasedItems::Parts> parts_of(detail::CallHandle call,
                                                    const wire::ObjectAnswerView& answer);
  [[nodiscard]] bool still_ours(std::uint64_t lease) const;

  const std::shared_ptr<TopicAccess> topic_;
  const ConsumerOptions options_;
  std::uint64_t group_ = 0;
  detail::CallHandle fetch_;  // under way, or empty
  Clock::time_point asked_at_{};
};

}  // namespace godwit::ref::stream
