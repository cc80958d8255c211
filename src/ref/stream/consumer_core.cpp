#include "ref/stream/consumer_core.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref::stream {
namespace {

using wire::StreamOp;

// Whatever is wrong with it, nothing outside of the image is read.
Status check(const LeasedItems::Slice& slice) {
  if (BatchView::size_of_index(slice.batch_items) <= slice.image.size()) return {};
  return fail(ErrorCode::protocol_violation, "the home sent a batch of {} items in {} bytes",
              slice.batch_items, slice.image.size());
}

}  // namespace

Result<std::shared_ptr<ConsumerCore>> ConsumerCore::join(std::shared_ptr<TopicAccess> topic,
                                                         std::string_view group,
                                                         const ConsumerOptions& options) {
  auto made = std::make_shared<ConsumerCore>(std::move(topic), options);
  const ItemFilter& filter = options.filter;
  const std::string_view equals = filter.key ? std::string_view(*filter.key) : std::string_view{};
  const wire::GroupTerms terms{.start = static_cast<std::uint8_t>(options.start.kind()),
                               .lasting = options.lasting ? std::uint8_t{1} : std::uint8_t{0},
                               .has_equals = filter.key ? std::uint8_t{1} : std::uint8_t{0},
                               .one_in = filter.one_in,
                               .offset = options.start.number(),
                               .name_bytes = static_cast<std::uint32_t>(group.size()),
                               .prefix_bytes = static_cast<std::uint32_t>(filter.key_prefix.size()),
                               .equals_bytes = static_cast<std::uint32_t>(equals.size())};
  const std::array<Bytes, 4> tail{bytes_of_value(terms), bytes_of(group),
                                  bytes_of(filter.key_prefix), bytes_of(equals)};
  GODWIT_TRY(const AnsweredItem answered,
             made->topic_->ask(made->topic_->request(StreamOp::join), tail));
  made->group_ = answered.answer.fixed.value;
  return made;
}

void ConsumerCore::ask() {
  wire::StreamRequest request = topic_->request(StreamOp::fetch);
  request.group = group_;
  request.count = options_.items;
  request.a = options_.bytes;
  request.b = static_cast<std::uint64_t>(options_.lease.count());
  if (topic_->maps()) request.flags = wire::StreamRequest::kMaps;
  asked_at_ = Clock::now();
  fetch_ = topic_->start(request, {}, kAskFor);
}

Result<std::shared_ptr<LeasedItems>> ConsumerCore::next(std::chrono::nanoseconds at_most) {
  const Clock::time_point started = Clock::now();
  for (;;) {
    if (!fetch_) ask();
    const auto left = at_most - (Clock::now() - started);
    if (!fetch_.wait(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds{0}))) {
      return fail(ErrorCode::deadline, "topic '{}' had nothing new within {} ms", topic_->topic(),
                  std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count());
    }
    auto answered = finish_one(std::exchange(fetch_, {}));
    if (!answered) {
      if (answered.error().code == ErrorCode::deadline) continue;  // kAskFor
      return tl::unexpected(std::move(answered).error());
    }
    const wire::ObjectAnswer& fixed = answered->answer.fixed;
    if ((fixed.flags & wire::kStreamEnded) != 0) return nullptr;
    // What was fetched ahead may have waited here until the home gave it to somebody else.
    const bool waited = Clock::now() - asked_at_ > options_.lease / 3;
    if (waited && !still_ours(fixed.value)) continue;
    GODWIT_TRY(auto parts, parts_of(std::move(answered->call), answered->answer));
    if (options_.fetch_ahead) ask();
    return std::make_shared<LeasedItems>(topic_, std::move(parts));
  }
}

bool ConsumerCore::still_ours(std::uint64_t lease) const {
  wire::StreamRequest request = topic_->request(StreamOp::extend);
  request.lease = lease;
  request.a = static_cast<std::uint64_t>(options_.lease.count());
  return topic_->ask(request).has_value();
}

// The answer lies in the call; items that are not in it are memory of the home's, on this host.
Result<LeasedItems::Parts> ConsumerCore::parts_of(detail::CallHandle call,
                                                  const wire::ObjectAnswerView& answer) {
  LeasedItems::Parts parts{.lease = answer.fixed.value, .lease_time = options_.lease};
  GODWIT_TRY(const std::vector<wire::StreamSliceView> slices, wire::parse_slices(answer));
  const bool in_tail = (answer.fixed.flags & wire::ObjectAnswer::kInTail) != 0;
  std::size_t number = 0;
  for (const wire::StreamSliceView& slice : slices) {
    LeasedItems::Slice one{.first = slice.fixed.first,
                           .items = slice.fixed.items,
                           .deliveries = slice.fixed.deliveries,
                           .index = slice.fixed.index,
                           .batch_items = slice.fixed.batch_items,
                           .image = slice.image,
                           .number = number};
    if (!in_tail) {
      GODWIT_TRY(const SegmentMap::Mapped memory,
                 topic_->access().segment(topic_->home(), slice.fixed.segment));
      if (memory == nullptr || !memory->holds(slice.fixed.offset, slice.fixed.bytes)) {
        return fail(ErrorCode::protocol_violation, "a batch lies beyond the end of its segment");
      }
      one.image = {memory->data() + slice.fixed.offset,
                   static_cast<std::size_t>(slice.fixed.bytes)};
      if (parts.keeps.empty() || parts.keeps.back() != memory) parts.keeps.push_back(memory);
    }
    GODWIT_CHECK(check(one));
    number += one.items;
    parts.slices.push_back(one);
  }
  if (in_tail) parts.keeps.push_back(std::make_shared<const detail::CallHandle>(std::move(call)));
  return parts;
}

Status ConsumerCore::seek(StartAt to) {
  if (fetch_) {
    fetch_.cancel();
    fetch_.wait();
    // What came nevertheless is the group's no more after the seek.
    fetch_ = {};
  }
  wire::StreamRequest request = topic_->request(StreamOp::seek);
  request.group = group_;
  request.a = static_cast<std::uint64_t>(to.kind());
  request.b = to.number();
  GODWIT_TRY(const AnsweredItem done, topic_->ask(request));
  static_cast<void>(done);
  return {};
}

LeasedItems::LeasedItems(std::shared_ptr<const TopicAccess> topic, Parts parts)
    : topic_(std::move(topic)), parts_(std::move(parts)) {
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
  return {.bytes = item.bytes,
          .key = text_of(item.metadata),
          .offset = slice.first + within,
          .deliveries = slice.deliveries};
}

void LeasedItems::ack(std::size_t index) {
  std::vector<OffsetRange> ranges;
  {
    const std::lock_guard lock(mutex_);
    if (acked_[index] != Ack::none) return;
    acked_[index] = Ack::new_one;
    // The last one is told of when the items are let go of, with all others.
    if (++acks_ == acked_.size() || Clock::now() - told_at_ < kTellEvery) return;
    told_at_ = Clock::now();
    ranges = news();
  }
  tell(std::move(ranges), true);
}

void LeasedItems::ack_all() {
  const std::lock_guard lock(mutex_);
  for (Ack& ack : acked_) {
    if (ack == Ack::none) ack = Ack::new_one;
  }
  acks_ = acked_.size();
}

// Items next to each other in the delivery are one range, also where the group does not want what
// lies between them: it counts as acked with them.
std::vector<OffsetRange> LeasedItems::news() {
  std::vector<OffsetRange> ranges;
  bool open = false;
  for (const Slice& slice : parts_.slices) {
    for (std::uint32_t i = 0; i < slice.items; ++i) {
      Ack& ack = acked_[slice.number + i];
      if (ack != Ack::new_one) {
        open = false;
        continue;
      }
      ack = Ack::told;
      const std::uint64_t offset = slice.first + i;
      if (open && offset >= ranges.back().end) {
        ranges.back().end = offset + 1;
      } else {
        ranges.push_back({offset, offset + 1});
      }
      open = true;
    }
  }
  return ranges;
}

// What the home knows no more, it needs no news of.
void LeasedItems::tell(std::vector<OffsetRange> ranges, bool and_goes_on) const {
  wire::StreamRequest request = topic_->request(StreamOp::ack);
  request.lease = parts_.lease;
  if (and_goes_on) request.a = static_cast<std::uint64_t>(parts_.lease_time.count());
  const Bytes tail = std::as_bytes(std::span(ranges));
  topic_->start(request, {&tail, 1}).detach();
}

// Told in one message if all is acked. What is not goes to others at once.
LeasedItems::~LeasedItems() {
  if (acks_ == acked_.size()) {
    tell({}, false);
    return;
  }
  std::vector<OffsetRange> ranges = news();
  if (!ranges.empty()) tell(std::move(ranges), false);
  wire::StreamRequest request = topic_->request(StreamOp::give_back);
  request.lease = parts_.lease;
  topic_->start(request).detach();
}

}  // namespace godwit::ref::stream
