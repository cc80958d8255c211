#include "ref/stream/gathering.hpp"

#include <algorithm>

namespace godwit::ref::stream {
namespace {

BatchView view_of(const StoredBatch& batch) noexcept {
  return {{batch.extent.data, static_cast<std::size_t>(batch.size)},
          static_cast<std::uint32_t>(batch.range.size())};
}

std::uint32_t index_of(const StoredBatch& batch, std::uint64_t offset) noexcept {
  return static_cast<std::uint32_t>(offset - batch.range.begin);
}

// Whatever a peer has made of the index, the difference is no less than 0.
std::uint64_t bytes_between(const BatchView& view, std::uint32_t first,
                            std::uint32_t last) noexcept {
  const std::uint64_t begin = view.bytes_before(first);
  return std::max(view.bytes_before(last), begin) - begin;
}

}  // namespace

Gathering::Gathering(TopicVisit& visit, Group& group, Lease& lease, const FetchOptions& options)
    : visit_(visit),
      topic_(visit.topic()),
      group_(group),
      lease_(lease),
      items_left_(std::min(options.items, StreamStore::kMaxFetchItems)),
      bytes_left_(options.bytes),
      copied_left_(options.bytes_copied) {}

void Gathering::gather() {
  while (!full_) {
    const auto piece = group_.outstanding.first_returned();
    if (!piece) break;
    again(*piece);
    full_ = full_ || scan_left_ == 0;
  }
  if (!full_) next();
  if (delivery_.slices.empty()) return;
  const Slice& last = delivery_.slices.back();
  delivery_.lease = {lease_.number};
  delivery_.range = {delivery_.slices.front().first, last.first + last.items};
}

void Gathering::again(const Outstanding::Piece& piece) {
  deliveries_ = piece.deliveries + 1;
  const Run run = walk(piece.range, deliveries_);
  if (run.taken.empty()) return;
  group_.outstanding.remove(piece);
  group_.outstanding.add({run.taken, lease_.number, deliveries_});
  const OffsetRange rest = topic_.trim(group_, {run.stopped, piece.range.end});
  group_.outstanding.add({rest, Outstanding::kNobody, piece.deliveries});
  visit_.need({run.taken.end, rest.empty() ? piece.range.end : rest.begin}, TopicVisit::Need::less);
}

void Gathering::next() {
  deliveries_ = 1;
  while (!full_ && group_.next < topic_.end) {
    // A piece across a batch of which nothing is wanted would keep that, too.
    const bool one_batch = !group_.filter.accepts_all();
    const std::uint64_t number = topic_.batch_at(group_.next);
    const bool known = one_batch && number != topic_.end_batch();
    const OffsetRange range{group_.next, known ? topic_.batch(number).range.end : topic_.end};
    const Run run = walk(range, deliveries_);
    group_.next = run.stopped;
    const OffsetRange taken = run.taken.empty() ? OffsetRange{run.stopped, run.stopped} : run.taken;
    group_.outstanding.add({taken, lease_.number, deliveries_});
    visit_.need({range.begin, taken.begin}, TopicVisit::Need::less);
    visit_.need({taken.end, run.stopped}, TopicVisit::Need::less);
  }
}

Gathering::Run Gathering::walk(OffsetRange range, std::uint32_t deliveries) {
  deliveries_ = deliveries;
  Run run{.stopped = range.begin};
  while (!full_ && run.stopped < range.end) {
    const std::uint64_t number = topic_.batch_at(run.stopped);
    // A group that came late may meet items that others were done with before.
    if (number == topic_.end_batch() || topic_.batch(number).range.begin >= range.end) {
      run.stopped = range.end;
      break;
    }
    const StoredBatch& batch = topic_.batch(number);
    const OffsetRange part{std::max(run.stopped, batch.range.begin),
                           std::min(range.end, batch.range.end)};
    if (!batch.extent) {
      run.stopped = part.end;
    } else if (group_.filter.accepts_all()) {
      take_all(number, part, run);
    } else {
      sift(number, part, run);
    }
  }
  return run;
}

void Gathering::take_all(std::uint64_t number, OffsetRange part, Run& run) {
  const StoredBatch& batch = topic_.batch(number);
  const BatchView view = view_of(batch);
  const std::uint32_t first = index_of(batch, part.begin);
  std::uint32_t low = 0;
  auto high = static_cast<std::uint32_t>(std::min(part.size(), items_left_));
  const std::uint64_t all = bytes_between(view, first, first + high);
  if (const std::uint64_t most = most_of(all); all > most) {
    while (low + 1 < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      (bytes_between(view, first, first + middle) <= most ? low : high) = middle;
    }
    high = low;
  }
  if (high == 0 && delivery_.slices.empty()) high = 1;
  full_ = high < part.size();
  if (high == 0) return;
  add(number, {part.begin, part.begin + high}, bytes_between(view, first, first + high), run);
  run.stopped = part.begin + high;
}

void Gathering::sift(std::uint64_t number, OffsetRange part, Run& run) {
  const StoredBatch& batch = topic_.batch(number);
  const BatchView view = view_of(batch);
  for (run.stopped = part.begin; run.stopped < part.end; ++run.stopped) {
    // What is delivered again is as long as it was before, and looked at as a whole.
    if (scan_left_ == 0 && deliveries_ == 1) {
      full_ = true;
      return;
    }
    if (scan_left_ != 0) --scan_left_;
    const Item item = view.item(index_of(batch, run.stopped));
    if (!group_.filter.accepts(run.stopped, item)) {
      if (deliveries_ == 1) ++group_.filtered;
      continue;
    }
    const std::uint64_t bytes = BatchView::aligned(item.bytes.size() + item.metadata.size());
    const bool fits = bytes <= most_of(bytes) || delivery_.slices.empty();
    if (items_left_ == 0 || !fits) {
      full_ = true;
      return;
    }
    add(number, {run.stopped, run.stopped + 1}, bytes, run);
  }
}

std::uint64_t Gathering::most_of(std::uint64_t bytes) const noexcept {
  const bool copied = bytes < FetchOptions::kLentFrom && !delivery_.slices.empty();
  return copied ? std::min(bytes_left_, copied_left_) : bytes_left_;
}

void Gathering::add(std::uint64_t number, OffsetRange items, std::uint64_t bytes, Run& run) {
  const StoredBatch& batch = topic_.batch(number);
  const auto count = static_cast<std::uint32_t>(items.size());
  items_left_ -= count;
  bytes_left_ -= std::min(bytes, bytes_left_);
  if (bytes < FetchOptions::kLentFrom) copied_left_ -= std::min(bytes, copied_left_);
  group_.delivered += count;
  if (deliveries_ > 1) group_.redelivered += count;
  if (run.taken.empty()) run.taken.begin = items.begin;
  run.taken.end = items.end;
  if (!delivery_.slices.empty()) {
    Slice& last = delivery_.slices.back();
    if (last.first + last.items == items.begin && lease_.pinned.back() == number &&
        last.deliveries == deliveries_) {
      last.items += count;
      return;
    }
  }
  visit_.pin(lease_, number);
  delivery_.slices.push_back({.first = items.begin,
                              .items = count,
                              .deliveries = deliveries_,
                              .index = index_of(batch, items.begin),
                              .batch_items = static_cast<std::uint32_t>(batch.range.size()),
                              .segment = batch.extent.segment,
                              .offset = batch.extent.offset,
                              .image = {batch.extent.data, static_cast<std::size_t>(batch.size)}});
}

}  // namespace godwit::ref::stream
