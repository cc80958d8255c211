#include "ref/stream/leased_items.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref::stream {

Status LeasedItems::check(const Slice& slice) {
  if (BatchView::size_of_index(slice.batch_items) <= slice.image.size()) return {};
  return fail(ErrorCode::protocol_violation, "the broker sent a batch of {} items in {} bytes",
              slice.batch_items, slice.image.size());
}

LeasedItems::LeasedItems(std::shared_ptr<const Leases> leases, Parts parts)
    : leases_(std::move(leases)), parts_(std::move(parts)) {
  const Slice& last = parts_.slices.back();
  acked_.resize(last.number + last.items);
}

const LeasedItems::Slice& LeasedItems::slice_of(std::size_t index) const noexcept {
  const auto after = std::upper_bound(
      parts_.slices.begin(), parts_.slices.end(), index,
      [](std::size_t number, const Slice& slice) { return number < slice.number; });
  return *std::prev(after);
}

detail::StreamItem LeasedItems::item(std::size_t index) const noexcept {
  const Slice& slice = slice_of(index);
  const auto within = static_cast<std::uint32_t>(index - slice.number);
  const Item item = BatchView(slice.image, slice.batch_items).item(slice.index + within);
  return {.bytes = slice.elsewhere.data() == nullptr ? item.bytes : slice.elsewhere,
          .key = text_of(item.metadata),
          .offset = slice.first + within,
          .deliveries = slice.deliveries};
}

void LeasedItems::ack(std::size_t index) {
  std::vector<OffsetRange> done;
  std::vector<OffsetRange> rest;
  {
    const std::lock_guard lock(mutex_);
    if (acked_[index] != Ack::none) return;
    acked_[index] = Ack::new_one;
    // The last one is told of when the items are let go of, with all others.
    if (++acks_ == acked_.size() || Clock::now() - told_at_ < kTellEvery) return;
    told_at_ = Clock::now();
    done = news();
    rest = not_acked();
  }
  leases_->acked(*this, std::move(done), std::move(rest));
}

// Items next to each other in the delivery are one range, also where the group does not want what
// lies between them: it counts as acked with them.
std::vector<OffsetRange> LeasedItems::ranges(Ack which) const {
  std::vector<OffsetRange> found;
  bool open = false;
  for (const Slice& slice : parts_.slices) {
    for (std::uint32_t i = 0; i < slice.items; ++i) {
      if (acked_[slice.number + i] != which) {
        open = false;
        continue;
      }
      const std::uint64_t offset = slice.first + i;
      if (open && offset >= found.back().end) {
        found.back().end = offset + 1;
      } else {
        found.push_back({offset, offset + 1});
      }
      open = true;
    }
  }
  return found;
}

std::vector<OffsetRange> LeasedItems::news() {
  std::vector<OffsetRange> found = ranges(Ack::new_one);
  std::replace(acked_.begin(), acked_.end(), Ack::new_one, Ack::told);
  told_ = acks_;
  return found;
}

// Told in one message if all is acked. What is not goes to others at once.
LeasedItems::~LeasedItems() {
  if (acks_ == acked_.size()) {
    leases_->all_acked(*this);
    return;
  }
  std::vector<OffsetRange> ranges = news();
  if (!ranges.empty()) leases_->acked(*this, std::move(ranges), {});
  leases_->given_back(*this);
}

}  // namespace godwit::ref::stream
