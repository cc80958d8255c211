#include "ref/stream/redis/redis_producer.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/fail.hpp"
#include "godwit/detail/object_door.hpp"

namespace godwit::ref::stream {

using Clock = RedisBroker::Clock;

// Shared with the thread, which may be what destroys the producer.
struct RedisTopicOut::Later {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> then;  // what waits; none: nothing does
  Clock::time_point due{};
  bool over = false;
};

RedisTopicOut::RedisTopicOut(std::shared_ptr<RedisBroker> broker, Place place)
    : broker_(std::move(broker)), place_(std::move(place)), later_(std::make_shared<Later>()) {
  thread_ = std::thread([later = later_, at = broker_, of = place_] { look_after(later, at, of); });
}

RedisTopicOut::~RedisTopicOut() {
  {
    const std::lock_guard lock(later_->mutex);
    later_->over = true;
  }
  later_->changed.notify_all();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
  ScriptCall call(Script::resign, place_.topic);
  call.add(place_.id).add(place_.producer);
  static_cast<void>(broker_->call(call));
}

void RedisTopicOut::look_after(const std::shared_ptr<Later>& later,
                               const std::shared_ptr<RedisBroker>& broker, const Place& place) {
  ScriptCall beat(Script::beat, place.topic);
  beat.add(place.id).add(place.producer);
  Clock::time_point next_beat = Clock::now() + kBeat;
  std::unique_lock lock(later->mutex);
  while (!later->over) {
    const Clock::time_point until = later->then ? std::min(later->due, next_beat) : next_beat;
    if (later->changed.wait_until(lock, until) == std::cv_status::no_timeout) continue;
    std::function<void()> then;
    if (later->then && Clock::now() >= later->due) then = std::exchange(later->then, {});
    lock.unlock();
    if (then) std::exchange(then, {})();
    if (Clock::now() >= next_beat) {
      // One that fails is made up for by the next.
      static_cast<void>(broker->call(beat));
      next_beat = Clock::now() + kBeat;
    }
    lock.lock();
  }
}

void RedisTopicOut::call_later(std::chrono::nanoseconds after, std::function<void()> then) {
  {
    const std::lock_guard lock(later_->mutex);
    later_->then = std::move(then);
    later_->due = Clock::now() + after;
  }
  later_->changed.notify_all();
}

std::size_t RedisTopicOut::max_item_bytes() const noexcept {
  return broker_->objects_at() ? kMaxBatchBytes : RedisBroker::kMaxItemBytes;
}

Status RedisTopicOut::append(std::uint64_t sequence, const PackedItems& items,
                             std::chrono::nanoseconds at_most) {
  if (items.alone && broker_->objects_at()) return append_object(sequence, items, at_most);
  return append_image(sequence, items, Kind::bytes, at_most);
}

Status RedisTopicOut::append_image(std::uint64_t sequence, const PackedItems& items, Kind kind,
                                   std::chrono::nanoseconds at_most) {
  ScriptCall call(Script::append, place_.topic);
  call.add(place_.id).add(place_.producer).add(sequence);
  if (items.alone) {
    const std::size_t last = items.parts.size() - 1;
    call.add("").add(static_cast<std::uint64_t>(kind)).add(text_of(items.parts[last]));
    call.add_parts(items.parts.first(last));
  } else {
    image_.assign(1, write_index(items.entries, index_));
    image_.insert(image_.end(), items.parts.begin(), items.parts.end());
    call.add_parts(image_).add(static_cast<std::uint64_t>(kind));
  }
  const Clock::time_point until = Clock::now() + at_most;
  for (;;) {
    GODWIT_TRY(const RedisReply reply, broker_->call_until(call, until));
    const Answer answer(reply);
    if (answer.word() == "ok") {
      broker_->evict(answer.list(1));
      return {};
    }
    if (answer.word() != "full") return broker_->refusal(place_.topic, {}, answer);
    broker_->evict(answer.list(4));
    if (Clock::now() >= until) {
      return fail(ErrorCode::deadline,
                  "topic '{}' had no room within {} ms, with {} of {} bytes in use: its consumers "
                  "are slow, or there are none; wait, let more consumers join, or give it more "
                  "max_bytes",
                  place_.topic,
                  std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count(),
                  answer.text(2), answer.text(3));
    }
    broker_->wait_for_bell(place_.topic, "room", answer.text(1), until);
  }
}

// The object is there before its handle is, so that whoever gets that finds it.
Status RedisTopicOut::append_object(std::uint64_t sequence, const PackedItems& items,
                                    std::chrono::nanoseconds at_most) {
  const NodeHandle& node = *broker_->objects_at();
  const detail::ObjectDoor door(node.objects());
  const std::size_t last = items.parts.size() - 1;  // the key
  GODWIT_TRY(const Handle handle, door.put(node.id(), {}, items.parts.first(last)));
  const std::string text = handle.to_text();
  const std::string_view key = text_of(items.parts[last]);
  const BatchView::Entry entry{static_cast<std::uint32_t>(text.size()),
                               static_cast<std::uint32_t>(text.size() + key.size())};
  const Bytes parts[] = {bytes_of(text), bytes_of(key)};
  Status sent =
      append_image(sequence, {.entries = {&entry, 1}, .parts = parts}, Kind::handle, at_most);
  // A server that is away may have it nevertheless.
  if (!sent && sent.error().code != ErrorCode::unreachable) static_cast<void>(door.evict(handle));
  return sent;
}

Status RedisTopicOut::close(ErrorCode code, std::string_view why) {
  ScriptCall call(Script::close, place_.topic);
  call.add(place_.id).add(static_cast<std::uint64_t>(code)).add(why);
  GODWIT_TRY(const RedisReply reply, broker_->call_until(call, Clock::time_point::max()));
  const Answer answer(reply);
  if (answer.word() != "ok") return broker_->refusal(place_.topic, {}, answer);
  return {};
}

}  // namespace godwit::ref::stream
