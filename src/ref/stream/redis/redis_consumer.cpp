#include "ref/stream/redis/redis_consumer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "godwit/detail/object_door.hpp"

namespace godwit::ref::stream {
namespace {

using Clock = RedisBroker::Clock;

// Kinds of items, as the server has them.
constexpr std::int64_t kHandle = 1;
constexpr std::int64_t kOnItsOwn = 2;

// Ranges without what lies between delivered items: this consumer may have that by another
// delivery.
std::vector<OffsetRange> exactly(const std::vector<LeasedItems::Slice>& slices,
                                 std::span<const OffsetRange> ranges) {
  std::vector<OffsetRange> exact;
  std::size_t at = 0;
  for (const OffsetRange& range : ranges) {
    while (at < slices.size() && slices[at].first + slices[at].items <= range.begin) ++at;
    for (std::size_t i = at; i < slices.size() && slices[i].first < range.end; ++i) {
      exact.push_back({std::max(range.begin, slices[i].first),
                       std::min(range.end, slices[i].first + slices[i].items)});
    }
  }
  return exact;
}

std::vector<OffsetRange> all_of(const LeasedItems::Parts& parts) {
  std::vector<OffsetRange> all;
  for (const LeasedItems::Slice& slice : parts.slices) {
    all.push_back({slice.first, slice.first + slice.items});
  }
  return all;
}

}  // namespace

std::optional<Error> refused_place(std::string_view topic, StartAt start, const Answer& answer) {
  if (answer.word() == "beyond") {
    return fail(ErrorCode::invalid_argument,
                "offset {} is beyond the end of topic '{}', which has {} items", start.number(),
                topic, answer.text(1))
        .value();
  }
  if (answer.word() == "gone") {
    return fail(ErrorCode::not_found,
                "offset {} of topic '{}' is not kept any more: {} is the oldest", start.number(),
                topic, answer.text(1))
        .value();
  }
  return std::nullopt;
}

// --- What becomes of items ---

RedisGroup::~RedisGroup() {
  ScriptCall call(Script::leave, place_.topic);
  call.add(place_.id).add(place_.group).add(place_.consumer);
  if (const auto reply = broker_->call(call)) broker_->evict(Answer(*reply).list(1));
}

void RedisGroup::tell(std::span<const OffsetRange> done, std::span<const OffsetRange> rest,
                      std::string_view what) const {
  ScriptCall call(Script::acked, place_.topic);
  call.add(place_.id).add(place_.group).add(place_.consumer);
  call.add(text_of(std::as_bytes(done))).add(text_of(std::as_bytes(rest))).add(what);
  const auto reply = broker_->call_until(call, Clock::now() + kTellFor);
  if (reply) broker_->evict(Answer(*reply).list(1));
}

void RedisGroup::acked(const LeasedItems& items, std::vector<OffsetRange> ranges,
                       std::vector<OffsetRange> rest) const {
  const auto& slices = items.parts().slices;
  const std::vector<OffsetRange> done = exactly(slices, ranges);
  for (const OffsetRange& range : done) held_ -= range.size();
  tell(done, exactly(slices, rest), rest.empty() ? "" : "anew");
}

void RedisGroup::all_acked(const LeasedItems& items) const {
  held_ -= items.not_told();
  tell(all_of(items.parts()), {}, "");
}

void RedisGroup::given_back(const LeasedItems& items) const {
  held_ -= items.not_told();
  tell({}, exactly(items.parts().slices, items.not_acked()), "back");
}

// --- Taking items ---

Result<std::shared_ptr<LeasedItems>> RedisConsumer::next(std::chrono::nanoseconds at_most) {
  const RedisGroup::Place& place = group_->place();
  RedisBroker& broker = group_->broker();
  const Clock::time_point until =
      Clock::now() + std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours(24 * 365));
  const auto lease = std::chrono::ceil<std::chrono::milliseconds>(
      std::min<std::chrono::nanoseconds>(options_.lease, kMaxLease));
  for (;;) {
    ScriptCall call(Script::take, place.topic);
    call.add(place.id).add(place.group).add(place.consumer);
    call.add(std::min(options_.items, kMaxItems));
    call.add(std::min<std::uint64_t>(options_.bytes, kMaxBytes));
    call.add(static_cast<std::uint64_t>(lease.count())).add(cursor_);
    call.add(group_->held());
    GODWIT_TRY(RedisReply reply, broker.call_until(call, until));
    const Answer answer(reply);
    const std::string_view word = answer.word();
    if (word == "ended" && answer.number(1) == 0) return nullptr;
    if (word != "items" && word != "none" && word != "again") {
      return broker.refusal(place.topic, place.group, answer);
    }
    cursor_ = answer.text(1);
    if (word == "items") return delivered(std::move(reply));
    broker.evict(answer.list(word == "none" ? 3 : 2));
    if (Clock::now() >= until) {
      return fail(ErrorCode::deadline, "topic '{}' had nothing new within {} ms", place.topic,
                  std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count());
    }
    if (word == "again") continue;
    // No bell tells that a lease is over.
    const Clock::time_point look = Clock::now() + std::max(lease / 2, kLookAgain);
    broker.wait_for_bell(place.topic, "items", answer.text(2), std::min(until, look));
  }
}

Result<std::shared_ptr<LeasedItems>> RedisConsumer::delivered(RedisReply reply) {
  const auto kept = std::make_shared<const RedisReply>(std::move(reply));
  const Answer answer(*kept);
  group_->broker().evict(answer.list(4));
  const Bytes image = bytes_of(answer.text(3));
  const std::vector<RedisReply>& runs = answer.list(2);
  LeasedItems::Parts parts{.lease_time = options_.lease};
  std::vector<std::size_t> objects;
  std::uint32_t items = 0;
  std::size_t large = 0;
  // Values that are read where they lie begin at multiples of 16 bytes.
  const auto aligned = [](Bytes bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) % BatchView::kAlign == 0;
  };
  bool good = aligned(image);
  for (std::size_t i = 0; i + 3 < runs.size(); i += 4) {
    if (runs[i + 3].number == kHandle) objects.push_back(parts.slices.size());
    const auto count = static_cast<std::uint32_t>(runs[i + 1].number);
    parts.slices.push_back({.first = static_cast<std::uint64_t>(runs[i].number),
                            .items = count,
                            .deliveries = static_cast<std::uint32_t>(runs[i + 2].number),
                            .index = items,
                            .image = image,
                            .number = items});
    items += count;
    if (runs[i + 3].number != kOnItsOwn) continue;
    good = good && large < answer.list(5).size() && count == 1;
    if (!good) break;
    parts.slices.back().elsewhere = bytes_of(answer.list(5)[large++].text);
    good = aligned(parts.slices.back().elsewhere);
  }
  const auto there = check_batch(image);
  if (!there || *there != items || !good) {
    return fail(ErrorCode::protocol_violation, "{} sent a batch that is none: {}",
                group_->broker().name(), there ? "its items" : there.error().message);
  }
  for (LeasedItems::Slice& slice : parts.slices) slice.batch_items = items;
  parts.keeps.push_back(kept);
  if (!objects.empty()) GODWIT_CHECK(fetch_objects(parts, objects));
  group_->hold(items);
  return std::make_shared<LeasedItems>(group_, std::move(parts));
}

Status RedisConsumer::fetch_objects(LeasedItems::Parts& parts,
                                    std::span<const std::size_t> which) const {
  const auto& node = group_->broker().objects_at();
  for (const std::size_t index : which) {
    LeasedItems::Slice& slice = parts.slices[index];
    const Bytes text = BatchView(slice.image, slice.batch_items).item(slice.index).bytes;
    Result<detail::ObjectView> view =
        fail(ErrorCode::unsupported, "it is an object at a node: connect to the broker with one");
    if (node) {
      const auto handle = Handle::parse(text_of(text));
      if (handle) {
        view = detail::ObjectDoor(node->objects()).resolve(*handle);
      } else {
        view = tl::unexpected(handle.error());
      }
    }
    if (view) {
      slice.elsewhere = view->bytes;
      parts.keeps.push_back(view->keeps);
      continue;
    }
    // One that is gone for good would stop the group for ever.
    const ErrorCode code = view.error().code;
    const bool gone = code == ErrorCode::not_found || code == ErrorCode::stale;
    const OffsetRange one{slice.first, slice.first + 1};
    group_->tell({&one, gone ? 1U : 0U}, all_of(parts), "back");
    return fail(code, "item {} of topic '{}' cannot be had{}: {}", slice.first,
                group_->place().topic, gone ? ", and is passed over" : "", view.error().message);
  }
  return {};
}

Status RedisConsumer::seek(StartAt to) {
  const RedisGroup::Place& place = group_->place();
  ScriptCall call(Script::seek, place.topic);
  call.add(place.id).add(place.group);
  call.add(static_cast<std::uint64_t>(to.kind())).add(to.number());
  GODWIT_TRY(const RedisReply reply, group_->broker().call(call));
  const Answer answer(reply);
  cursor_ = "0-0";
  if (answer.word() == "ok") {
    group_->broker().evict(answer.list(1));
    return {};
  }
  if (const auto wrong = refused_place(place.topic, to, answer)) return tl::unexpected(*wrong);
  return group_->broker().refusal(place.topic, place.group, answer);
}

}  // namespace godwit::ref::stream
