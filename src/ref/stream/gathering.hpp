// Picks the items of one delivery.
#pragma once

#include <cstdint>

#include "ref/stream/stream_store.hpp"
#include "ref/stream/topic.hpp"
#include "ref/stream/visit.hpp"

namespace godwit::ref::stream {

// With the topic's lock held, for as long as it lives.
class Gathering {
 public:
  // How many items filters look at before others get at the topic.
  static constexpr std::uint64_t kMaxScan = 65'536;

  Gathering(TopicVisit& visit, Group& group, Lease& lease, const FetchOptions& options);

  // Those that wait to be delivered again, then the next ones.
  void gather();
  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }
  // Nothing was found so far, and there is more to look at.
  [[nodiscard]] bool cut_short() const noexcept { return delivery_.slices.empty() && full_; }

 private:
  // What was taken of a range: the hull of it, and how far that went.
  struct Run {
    OffsetRange taken{};
    std::uint64_t stopped = 0;
  };
  void again(const Outstanding::Piece& piece);
  void next();
  Run walk(OffsetRange range, std::uint32_t deliveries);
  void take_all(std::uint64_t batch, OffsetRange part, Run& run);
  void sift(std::uint64_t batch, OffsetRange part, Run& run);
  // How much of a piece of so many bytes may be taken.
  [[nodiscard]] std::uint64_t most_of(std::uint64_t bytes) const noexcept;
  void add(std::uint64_t batch, OffsetRange items, std::uint64_t bytes, Run& run);

  TopicVisit& visit_;
  Topic& topic_;
  Group& group_;
  Lease& lease_;
  Delivery delivery_;
  std::uint64_t items_left_;
  std::uint64_t bytes_left_;
  std::uint64_t copied_left_;  // of it, in small pieces
  std::uint64_t scan_left_ = kMaxScan;
  std::uint32_t deliveries_ = 1;
  bool full_ = false;
};

}  // namespace godwit::ref::stream
