#include "ref/stream/service.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "call/context.hpp"
#include "ref/home/answers.hpp"
#include "ref/stream/delivery_image.hpp"

namespace godwit::ref::stream {
namespace {

using wire::ObjectAnswer;
using wire::StreamOp;

// Memory of a lease that a reply reads from.
class Reading {
 public:
  Reading(StreamStore& topics, Member consumer, TopicId topic, LeaseId lease) noexcept
      : topics_(topics), consumer_(consumer), topic_(topic), lease_(lease) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    // It may have been acked by now.
    static_cast<void>(topics_.done_reading(consumer_, topic_, lease_));
  }

 private:
  StreamStore& topics_;
  const Member consumer_;
  const TopicId topic_;
  const LeaseId lease_;
};

wire::TopicFacts facts_of(const TopicStats& topic) {
  return {.topic = topic.id.value,
          .oldest = topic.oldest,
          .end = topic.end,
          .appended_bytes = topic.appended_bytes,
          .kept_bytes = topic.kept_bytes,
          .refused = topic.refused,
          .producers = static_cast<std::uint32_t>(topic.producers),
          .groups = static_cast<std::uint32_t>(topic.groups),
          .error = topic.error ? static_cast<std::uint32_t>(topic.error->code) : 0,
          .name_bytes = static_cast<std::uint16_t>(topic.name.size()),
          .ended = topic.ended ? std::uint16_t{1} : std::uint16_t{0}};
}

wire::GroupFacts facts_of(const GroupStats& group) {
  return {.group = group.id.value,
          .next = group.next,
          .acked = group.acked,
          .lag = group.lag,
          .leased = group.leased,
          .delivered = group.delivered,
          .redelivered = group.redelivered,
          .filtered = group.filtered,
          .consumers = static_cast<std::uint32_t>(group.consumers),
          .name_bytes = static_cast<std::uint32_t>(group.name.size())};
}

template <class Facts>
void add(std::string& all, const Facts& facts, std::string_view name) {
  all += text_of(bytes_of_value(facts));
  all += name;
}

}  // namespace

struct StreamService::Request {
  const wire::StreamRequest& head;
  Bytes tail;
  const call::Objects::Asker& asker;
  Member member;

  [[nodiscard]] TopicId topic() const noexcept { return {head.topic}; }
  [[nodiscard]] GroupKey group() const noexcept { return {{head.topic}, {head.group}}; }
  [[nodiscard]] LeaseId lease() const noexcept { return {head.lease}; }
};

Result<bool> StreamService::answer(const call::Objects::Asker& asker, Bytes bytes,
                                   call::ReplyBuffer& reply) {
  GODWIT_TRY(const wire::StreamRequestView view, wire::parse_stream_request(bytes));
  const Holder process{asker.node, Epoch{view.head.epoch}};
  const Request request{view.head, view.tail, asker, {process, view.head.member}};
  thread_local Answers answers;
  answers.clear();
  answers.add();
  const auto done = act(request, answers);
  on_use_();
  if (!done) return tl::unexpected(done.error());
  if (*done) GODWIT_CHECK(answers.write_to(reply));
  return *done;
}

Result<bool> StreamService::act(const Request& request, Answers& answers) {
  const auto finished = [](const Status& status) -> Result<bool> {
    if (!status) return tl::unexpected(status.error());
    return true;
  };
  const wire::StreamRequest& head = request.head;
  switch (head.op) {
    case StreamOp::append: return append(request, answers);
    case StreamOp::fetch: return fetch(request, answers);
    case StreamOp::open: return finished(open(request, answers));
    case StreamOp::find: {
      GODWIT_TRY(const TopicId topic, topics_.find(text_of(request.tail)));
      answers.last().value = topic.value;
      return true;
    }
    case StreamOp::join: return finished(join(request, answers));
    case StreamOp::ack: return finished(ack(request, answers));
    case StreamOp::give_back:
      return finished(topics_.give_back(request.member, request.topic(), request.lease()));
    case StreamOp::extend:
      return finished(topics_.extend(request.member, request.topic(), request.lease(),
                                     Duration(static_cast<std::int64_t>(head.a))));
    case StreamOp::seek: {
      if (head.a > static_cast<std::uint64_t>(Position::Kind::offset)) {
        return fail(ErrorCode::bad_format, "there is no position of kind {}", head.a);
      }
      return finished(topics_.seek(request.group(), {static_cast<Position::Kind>(head.a), head.b}));
    }
    case StreamOp::resign: topics_.resign(request.member, request.topic()); return true;
    case StreamOp::close: return finished(close(request));
    case StreamOp::remove: return finished(topics_.remove(request.topic()));
    case StreamOp::remove_group: return finished(topics_.remove_group(request.group()));
    case StreamOp::describe: return finished(describe(request, answers));
    case StreamOp::list: list(request, answers); return true;
  }
  return fail(ErrorCode::bad_format, "there is no operation {} on topics",
              static_cast<unsigned>(head.op));
}

Status StreamService::open(const Request& request, Answers& answers) {
  wire::TailReader tail(request.tail);
  GODWIT_TRY(const auto terms, tail.take<wire::TopicTerms>());
  std::optional<TopicOptions> options;
  if (terms.given != 0) {
    options = {
        .max_bytes = terms.max_bytes,
        .replay = {terms.replay_items, terms.replay_bytes, Duration(terms.replay_ns)},
        .groups_awaited = terms.groups_awaited,
    };
  }
  if (request.head.a > static_cast<std::uint64_t>(ProducerKind::sole) + 1) {
    return fail(ErrorCode::bad_format, "there is no producer of kind {}", request.head.a);
  }
  GODWIT_TRY(const TopicId topic, topics_.open(text_of(tail.rest()), options, request.head.b));
  GODWIT_TRY(const TopicStats stats, topics_.describe(topic));
  answers.last().value = topic.value;
  answers.last().size = stats.max_bytes;
  if (request.head.a == 0) return {};
  return topics_.produce(request.member, topic, static_cast<ProducerKind>(request.head.a - 1));
}

// What does not fit waits for room, where the asker is one that can.
Result<bool> StreamService::append(const Request& request, Answers& answers) {
  const AppendOptions options{.sequence = request.head.a, .waiter = request.asker.waiter};
  bool waits = false;
  // True: the batch has become part of the topic. A repetition has not.
  const auto add = [&](Batch& batch) -> Result<bool> {
    auto first = topics_.append(request.member, request.topic(), batch, options);
    if (first) {
      answers.last().value = *first;
      return !batch;
    }
    waits = first.error().code == ErrorCode::would_block && options.waiter != 0;
    return tl::unexpected(std::move(first).error());
  };
  const Result<bool> kept =
      request.head.b == 0 ? append_copy(request, add) : append_room(request, add);
  if (waits) return false;
  if (!kept) return tl::unexpected(kept.error());
  return true;
}

Result<bool> StreamService::append_copy(const Request& request, const Add& add) {
  const auto wait = request.asker.may_wait ? Arena::Wait::yes : Arena::Wait::no;
  GODWIT_TRY(Batch batch, Batch::copy_of(rooms_.arena(), request.tail, wait));
  return add(batch);
}

// Where it cannot be appended the room stays, and is asked for again.
Result<bool> StreamService::append_room(const Request& request, const Add& add) {
  const auto adopt = [&](const Extent& extent, std::uint64_t size) -> Result<bool> {
    GODWIT_TRY(Batch batch, Batch::adopt(rooms_.arena(), extent, size));
    auto kept = add(batch);
    if (batch) static_cast<void>(batch.take());
    return kept;
  };
  GODWIT_TRY(const bool kept, rooms_.use_room(request.member.process, request.head.b, adopt));
  if (!kept) rooms_.abandon(request.member.process, request.head.b);
  return kept;
}

Status StreamService::join(const Request& request, Answers& answers) {
  wire::TailReader tail(request.tail);
  GODWIT_TRY(const auto terms, tail.take<wire::GroupTerms>());
  GODWIT_TRY(const std::string_view name, tail.take_text(terms.name_bytes));
  GODWIT_TRY(const std::string_view prefix, tail.take_text(terms.prefix_bytes));
  GODWIT_TRY(const std::string_view equals, tail.take_text(terms.equals_bytes));
  if (terms.start > static_cast<std::uint8_t>(Position::Kind::offset)) {
    return fail(ErrorCode::bad_format, "there is no position of kind {}", terms.start);
  }
  GroupOptions options{.start = {static_cast<Position::Kind>(terms.start), terms.offset},
                       .filter = {.prefix = std::string(prefix), .one_in = terms.one_in},
                       .lasting = terms.lasting != 0};
  if (terms.has_equals != 0) options.filter.equals = std::string(equals);
  GODWIT_TRY(const GroupId group, topics_.join(request.member, request.topic(), name, options));
  answers.last().value = group.value;
  return {};
}

Result<bool> StreamService::fetch(const Request& request, Answers& answers) {
  const bool maps = (request.head.flags & wire::StreamRequest::kMaps) != 0;
  FetchOptions options{.items = request.head.count,
                       .bytes = request.head.a,
                       .lease = Duration(static_cast<std::int64_t>(request.head.b)),
                       .waiter = request.asker.waiter};
  if (!maps) options.bytes_copied = kMaxCopied;
  auto delivery = topics_.fetch(request.member, request.group(), options);
  if (!delivery) {
    const bool waits = delivery.error().code == ErrorCode::would_block && options.waiter != 0;
    if (waits) return false;
    return tl::unexpected(delivery.error());
  }
  write(request, *delivery, answers);
  return true;
}

// For those that can map, small deliveries alone are copied. For others small slices are, and the
// reply reads the rest where it lies.
void StreamService::write(const Request& request, Delivery& delivery, Answers& answers) {
  ObjectAnswer& answer = answers.last();
  answer.value = delivery.lease.value;
  answer.version = delivery.range.begin;
  answer.size = delivery.range.end;
  answer.type = delivery.slices.size();
  if (delivery.ended) answer.flags |= wire::kStreamEnded;
  if (delivery.slices.empty()) return;
  const bool maps = (request.head.flags & wire::StreamRequest::kMaps) != 0;
  const DeliveryImage image(delivery);
  if (maps && image.item_bytes() > kSmall) {
    answers.append(image.slices());
    return;
  }
  answer.flags |= ObjectAnswer::kInTail;
  auto reading =
      std::make_shared<Reading>(topics_, request.member, request.topic(), delivery.lease);
  if (image.write_to(answers, FetchOptions::kLentFrom)) answers.keep(std::move(reading));
}

Status StreamService::ack(const Request& request, Answers& answers) {
  if (request.tail.size() % sizeof(OffsetRange) != 0) {
    return fail(ErrorCode::bad_format, "a list of offsets is cut short");
  }
  std::vector<OffsetRange> ranges(request.tail.size() / sizeof(OffsetRange));
  if (!ranges.empty()) std::memcpy(ranges.data(), request.tail.data(), request.tail.size());
  GODWIT_TRY(answers.last().value,
             topics_.ack(request.member, request.topic(), request.lease(), ranges));
  if (request.head.a == 0) return {};
  // If nothing is left, there is nothing to extend.
  static_cast<void>(topics_.extend(request.member, request.topic(), request.lease(),
                                   Duration(static_cast<std::int64_t>(request.head.a))));
  return {};
}

Status StreamService::close(const Request& request) {
  if (request.head.a == 0) return topics_.close(request.topic());
  return topics_.close(request.topic(), Error{static_cast<ErrorCode>(request.head.a & 0xFFFFU),
                                              std::string(text_of(request.tail))});
}

Status StreamService::describe(const Request& request, Answers& answers) const {
  GODWIT_TRY(const TopicStats topic, topics_.describe(request.topic()));
  const std::vector<GroupStats> groups = topics_.groups(request.topic());
  std::string all;
  wire::TopicFacts facts = facts_of(topic);
  facts.groups = static_cast<std::uint32_t>(groups.size());  // as many as follow
  add(all, facts, topic.name);
  for (const GroupStats& group : groups) add(all, facts_of(group), group.name);
  answers.append(bytes_of(all));
  return {};
}

void StreamService::list(const Request& request, Answers& answers) const {
  std::string all;
  const auto most = std::min<std::uint64_t>(request.head.a, kMaxListed);
  for (const TopicStats& topic : topics_.list(most)) add(all, facts_of(topic), topic.name);
  answers.last().value = topics_.stats().topics;
  answers.append(bytes_of(all));
}

}  // namespace godwit::ref::stream
