#include "ref/stream/node_consumer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref::stream {
namespace {

using wire::StreamOp;

}  // namespace

Result<std::shared_ptr<NodeConsumer>> NodeConsumer::join(std::shared_ptr<TopicAccess> topic,
                                                         std::string_view group,
                                                         const ConsumerOptions& options) {
  auto made = std::make_shared<NodeConsumer>(std::move(topic), options);
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

void NodeConsumer::ask() {
  wire::StreamRequest request = topic_->request(StreamOp::fetch);
  request.group = group_;
  request.count = options_.items;
  request.a = options_.bytes;
  request.b = static_cast<std::uint64_t>(options_.lease.count());
  if (topic_->maps()) request.flags = wire::StreamRequest::kMaps;
  asked_at_ = Clock::now();
  fetch_ = topic_->start(request, {}, kAskFor);
}

Result<std::shared_ptr<LeasedItems>> NodeConsumer::next(std::chrono::nanoseconds at_most) {
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

bool NodeConsumer::still_ours(std::uint64_t lease) const {
  wire::StreamRequest request = topic_->request(StreamOp::extend);
  request.lease = lease;
  request.a = static_cast<std::uint64_t>(options_.lease.count());
  return topic_->ask(request).has_value();
}

// The answer lies in the call; items that are not in it are memory of the home's, on this host.
Result<LeasedItems::Parts> NodeConsumer::parts_of(detail::CallHandle call,
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
    GODWIT_CHECK(LeasedItems::check(one));
    number += one.items;
    parts.slices.push_back(one);
  }
  if (in_tail) parts.keeps.push_back(std::make_shared<const detail::CallHandle>(std::move(call)));
  return parts;
}

Status NodeConsumer::seek(StartAt to) {
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

}  // namespace godwit::ref::stream
