// The items of one delivery, as a consumer has them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/detail/stream_door.hpp"
#include "godwit/error.hpp"
#include "ref/stream/batch.hpp"
#include "ref/stream/outstanding.hpp"

namespace godwit::ref::stream {

class LeasedItems;

// Who is told what became of delivered items. Any thread.
class Leases {
 public:
  virtual ~Leases() = default;

  // `rest` is not acked, and its lease begins anew; none: that stays as it is. Between items that
  // are next to each other in the delivery, a range has also what was not delivered.
  virtual void acked(const LeasedItems& items, std::vector<OffsetRange> ranges,
                     std::vector<OffsetRange> rest) const = 0;
  virtual void all_acked(const LeasedItems& items) const = 0;
  // What is not acked may go to others.
  virtual void given_back(const LeasedItems& items) const = 0;
};

// Any thread. When it ends the broker is told of what was acked, and the rest goes to another
// consumer.
class LeasedItems {
 public:
  // While items are acked one by one, the broker is told so often, and the lease begins anew.
  static constexpr std::chrono::milliseconds kTellEvery{100};

  struct Slice {
    std::uint64_t first = 0;
    std::uint32_t items = 0;
    std::uint32_t deliveries = 1;
    std::uint32_t index = 0;
    std::uint32_t batch_items = 0;
    Bytes image{};
    std::size_t number = 0;  // of its first item, in the delivery
    Bytes elsewhere{};       // the bytes of the only item, where they are not in the image
  };
  struct Parts {
    std::uint64_t lease = 0;  // the broker's number, if it has one
    std::chrono::nanoseconds lease_time{};
    std::vector<Slice> slices{};                       // at least one, by offset
    std::vector<std::shared_ptr<const void>> keeps{};  // what the images lie in
  };
  // Whatever is wrong with it, nothing outside of the image is read. Errors: protocol_violation.
  [[nodiscard]] static Status check(const Slice& slice);

  LeasedItems(std::shared_ptr<const Leases> leases, Parts parts);
  ~LeasedItems();
  LeasedItems(const LeasedItems&) = delete;
  LeasedItems& operator=(const LeasedItems&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return acked_.size(); }
  [[nodiscard]] detail::StreamItem item(std::size_t index) const noexcept;
  void ack(std::size_t index);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  // How many the broker was not told of as acked.
  [[nodiscard]] std::size_t not_told() const noexcept { return acked_.size() - told_; }
  // Those that nobody has acked. For given_back(): nobody acks any more.
  [[nodiscard]] std::vector<OffsetRange> not_acked() const { return ranges(Ack::none); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Ack : std::uint8_t { none, new_one, told };
  [[nodiscard]] const Slice& slice_of(std::size_t index) const noexcept;
  [[nodiscard]] std::vector<OffsetRange> ranges(Ack which) const;
  // With the mutex held: acked items that the broker has not been told of.
  [[nodiscard]] std::vector<OffsetRange> news();

  const std::shared_ptr<const Leases> leases_;
  const Parts parts_;
  std::mutex mutex_;
  std::vector<Ack> acked_;
  std::size_t acks_ = 0;
  std::size_t told_ = 0;
  Clock::time_point told_at_ = Clock::now();
};

}  // namespace godwit::ref::stream
