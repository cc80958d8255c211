#include "ref/stream/node_producer.hpp"

#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "call/caller.hpp"
#include "fabric/reactor.hpp"

namespace godwit::ref::stream {

using wire::StreamOp;

Status NodeTopicOut::append(std::uint64_t sequence, const PackedItems& items,
                            std::chrono::nanoseconds at_most) {
  image_.assign(1, write_index(items.entries, index_));
  image_.insert(image_.end(), items.parts.begin(), items.parts.end());
  const std::size_t bytes = total_size(image_);
  wire::StreamRequest request = topic_->request(StreamOp::append);
  request.a = sequence;
  Result<AnsweredItem> done = fail(ErrorCode::would_block, "not asked yet");
  if (bytes <= kSmall) {
    done = topic_->ask(request, image_, at_most);
  } else if (!topic_->maps() && bytes <= kOneMessage) {
    done = topic_->ask(request, image_, at_most, Ask::slowly);
  }
  if (!done && done.error().code == ErrorCode::would_block) {
    done = append_room(request, image_, at_most);
  }
  return ended(done, bytes, at_most);
}

// Where the image is larger than what goes in a message; the room is the caller's, as before.
Result<std::optional<Draft>> NodeTopicOut::room_for(std::size_t bytes) {
  std::optional<Draft> room;
  if (!topic_->maps()) return room;
  GODWIT_TRY(Draft draft, topic_->access().begin_draft(topic_->home(), bytes));
  if (draft.ticket() != 0) room.emplace(std::move(draft));
  return room;
}

Status NodeTopicOut::append_draft(Draft& image, std::chrono::nanoseconds at_most) {
  wire::StreamRequest request = topic_->request(StreamOp::append);
  request.b = image.ticket();
  const auto done = append_ticket(request, at_most);
  if (done) image.done();
  return ended(done, image.bytes().size(), at_most);
}

Status NodeTopicOut::ended(const Result<AnsweredItem>& done, std::size_t bytes,
                           std::chrono::nanoseconds at_most) const {
  if (done) return {};
  if (done.error().code != ErrorCode::deadline) return tl::unexpected(done.error());
  return fail(ErrorCode::deadline,
              "topic '{}' had no room for {} bytes within {} ms: its consumers are slow, or there "
              "are none; wait, let more consumers join, or give it more max_bytes",
              topic_->topic(), bytes,
              std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count());
}

// Written first, then appended: so the home waits for room with no more than a ticket in its hand.
Result<AnsweredItem> NodeTopicOut::append_room(wire::StreamRequest request,
                                               std::span<const Bytes> image,
                                               std::chrono::nanoseconds at_most) {
  GODWIT_TRY(request.b, topic_->access().write_room(topic_->home(), image));
  auto done = append_ticket(request, at_most);
  if (!done) topic_->access().abandon_room(topic_->home(), request.b);
  return done;
}

Result<AnsweredItem> NodeTopicOut::append_ticket(const wire::StreamRequest& request,
                                                 std::chrono::nanoseconds at_most) {
  detail::CallHandle call = topic_->start(request, {}, at_most);
  call.wait();
  return finish_one(std::move(call));
}

Status NodeTopicOut::close(ErrorCode code, std::string_view why) {
  wire::StreamRequest request = topic_->request(StreamOp::close);
  request.a = static_cast<std::uint64_t>(code);
  const Bytes text = bytes_of(why);
  GODWIT_TRY(const AnsweredItem done, topic_->ask(request, {&text, 1}));
  static_cast<void>(done);
  return {};
}

// Only the reactor's owner may set a timer, and it may not wait.
void NodeTopicOut::call_later(std::chrono::nanoseconds after, std::function<void()> then) {
  fabric::Reactor& reactor = topic_->access().asking().caller.reactor();
  reactor.post([&reactor, after, then = std::move(then)] {
    reactor.post_at(reactor.now() + after, [&reactor, then] { reactor.offload(then, [] {}); });
  });
}

}  // namespace godwit::ref::stream
