// The way of a message: send() to the peer's ring, poll() from ours to the handler.
#include <bit>
#include <cstring>
#include <utility>

#include "base/parts.hpp"
#include "fabric/fence.hpp"
#include "fabric/shm/transport.hpp"

namespace godwit::fabric::shm {
namespace {

// Records of queued messages and streams written per link and poll, so that one link's gigabytes
// leave time for the others.
constexpr std::size_t kRecordsPerTurn = 8;
// While hot links have work, the others are looked at once in so many polls.
constexpr std::uint64_t kPollsPerColdLook = 8;
// From here on a message gets a Buffer of its own, which its handler may keep without a copy.
constexpr std::size_t kOwnBuffer = 2048;
// A hot link that had nothing for so many polls gives its place to one that has.
constexpr std::uint64_t kIdlePolls = 4096;

// Copies whole blocks, which a record always has and the destination must have: no call, and no
// branches on the size.
void copy_record_body(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  constexpr std::size_t kBlock = kLineSize - kBodyOffset;
  constexpr std::size_t kFewBlocks = 8;
  if (size > kFewBlocks * kBlock) {
    std::memcpy(to, from, size);
    return;
  }
  for (std::size_t at = 0; at < size; at += kBlock) std::memcpy(to + at, from + at, kBlock);
}

}  // namespace

Sent ShmTransport::send(LinkId id, const wire::Header& header, std::span<const Bytes> parts,
                        std::uint64_t tag) {
  Link* link = find(id);
  if (link == nullptr || link->state != Link::State::up) return Sent::down;
  const std::size_t size = total_size(parts);
  if (size > kSmallLimit) [[unlikely]] {
    idle_memory_.note_use();
    link->outbox.add_stream(header, parts, size, tag);
    start_sending(*link);
    return Sent::later;
  }
  if (!link->outbox.has_small() && link->out.has_room(size)) [[likely]] {
    link->out.write(header, parts, {static_cast<std::uint32_t>(size), RecordKind::message, 0});
    notify(*link);
    return Sent::now;
  }
  if (!link->outbox.add_small(header, parts, size))
    go_down(*link, {ErrorCode::out_of_memory, "no memory for messages to a slow peer"});
  start_sending(*link);
  return Sent::now;
}

// Looks at the peer's state at once, without the fence that would make sure: a peer that sleeps, or
// finds the link through its doorbell, is seen nearly always. The fence follows with the next poll
// (or before this process sleeps), one for all links.
void ShmTransport::notify(Link& link) {
  link.peer.notify();
  if (link.unfenced) return;
  link.unfenced = true;
  unfenced_.push_back(&link);
}

void ShmTransport::settle_notifications() {
  full_fence();
  for (Link* link : unfenced_) {
    link->unfenced = false;
    // One that has taken everything and went to sleep since would be woken for nothing.
    if (!link->peer.is_asleep() || !link->out.is_drained()) link->peer.notify();
  }
  unfenced_.clear();
}

std::size_t ShmTransport::poll(std::size_t budget) {
  ++polls_;
  std::size_t work = 0;
  if (armed_) {
    armed_ = false;
    doorbell_.wake_up();
  }
  if (!unfenced_.empty()) settle_notifications();
  if (!queued_events_.empty()) work += deliver_events();
  if (!sending_.empty()) work += send_queued();
  work += receive_hot(budget);
  // Hot links that keep this process busy must not keep it from the others.
  if (work == 0 || (work < budget && polls_ % kPollsPerColdLook == 0))
    work += receive_ready(budget - work);
  if (!ending_.empty()) [[unlikely]]
    work += receive_ending(budget);
  return work;
}

std::size_t ShmTransport::deliver_events() {
  const std::size_t count = queued_events_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Event event = std::move(queued_events_.front());
    queued_events_.pop_front();
    Link* link = find(event.link);
    if (link == nullptr) continue;
    switch (event.kind) {
      case Event::Kind::up:
        link->socket->set_events(link);
        if (!link->receives()) break;  // closed meanwhile: its end is all there is to tell
        link->announced = true;
        events_.on_up(event.link, event.peer);
        break;
      case Event::Kind::sent: events_.on_sent(event.link, event.tag); break;
      case Event::Kind::down:
        remove(*link);
        events_.on_down(event.link, event.why);
        break;
    }
  }
  return count;
}

void ShmTransport::start_sending(Link& link) {
  if (link.sending) return;
  link.sending = true;
  sending_.push_back(&link);
}

std::size_t ShmTransport::send_queued() {
  std::size_t work = 0;
  for (std::size_t i = sending_.size(); i-- > 0;) {
    Link& link = *sending_[i];
    work += send_queued(link);
    const bool done = link.outbox.is_empty() && link.state != Link::State::closing;
    if (!done && link.state != Link::State::down) continue;
    link.sending = false;
    sending_[i] = sending_.back();
    sending_.pop_back();
  }
  return work;
}

std::size_t ShmTransport::send_queued(Link& link) {
  if (link.state != Link::State::up && link.state != Link::State::closing) return 0;
  const std::size_t work = link.outbox.pump(link.out, kRecordsPerTurn, sent_tags_);
  for (const std::uint64_t tag : sent_tags_)
    queued_events_.push_back({Event::Kind::sent, link.id, tag, {}, {}});
  sent_tags_.clear();
  const bool last = link.state == Link::State::closing && link.has_sent_all();
  if (last && link.out.has_room(0)) {
    link.out.write({}, {}, {0, RecordKind::close, 0});
    link.peer.summon();
    go_down(link, {ErrorCode::none, "the link was closed"});
    return work + 1;
  }
  if (work != 0) notify(link);
  if (link.out.is_violated()) violated(link);
  return work;
}

std::size_t ShmTransport::receive_hot(std::size_t budget) {
  std::size_t work = 0;
  for (std::size_t i = 0; i < hot_count_; ++i) {
    Link& link = *hot_[i];
    link.in.prefetch();
    if (link.in.peek() == 0) continue;
    link.active_at_poll = polls_;
    // The rest of the budget is shared: no hot link starves the ones after it.
    work += receive(link, budget / hot_count_ + 1);
  }
  return work;
}

std::size_t ShmTransport::receive_ready(std::size_t budget) {
  std::size_t work = 0;
  for (std::size_t word = 0; word < kLinkWords; ++word) {
    std::uint64_t ready = std::exchange(left_over_[word], 0) | doorbell_.take_ready(word);
    for (; ready != 0; ready &= ready - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(ready));
      Link* link = links_[word * 64 + bit].get();
      if (link == nullptr || !link->receives()) continue;
      if (!link->announced || work >= budget) {
        left_over_[word] |= std::uint64_t{1} << bit;
        continue;
      }
      if (!link->hot) make_hot(*link);
      const std::size_t received = receive(*link, budget - work);
      work += received;
      if (!link->hot && link->receives() && link->in.peek() != 0)
        left_over_[word] |= std::uint64_t{1} << bit;
    }
  }
  return work;
}

// Links whose peer is gone: what it sent before still counts.
std::size_t ShmTransport::receive_ending(std::size_t budget) {
  std::size_t work = 0;
  for (std::size_t i = ending_.size(); i-- > 0;) {
    Link& link = *ending_[i];
    if (!link.announced && link.state != Link::State::down) continue;
    work += receive(link, budget) + 1;
    if (link.state == Link::State::ending && link.in.peek() == 0)
      go_down(link, std::move(link.end_reason));
    if (link.state != Link::State::down) continue;
    ending_[i] = ending_.back();
    ending_.pop_back();
  }
  return work;
}

std::size_t ShmTransport::receive(Link& link, std::size_t budget) {
  std::size_t count = 0;
  while (count < budget && link.receives()) {
    const std::uint64_t packed = link.in.peek();
    if (packed == 0) break;
    ++count;
    if (!take_record(link, packed)) violated(link);
  }
  return count;
}

// False: not a record of this protocol.
bool ShmTransport::take_record(Link& link, std::uint64_t packed) {
  RecordWord word;
  if (!RecordWord::unpack(packed, word) || word.size > link.max_body) return false;
  const std::byte* record = link.in.record();
  const std::byte* body = record + kBodyOffset;
  wire::Header header;
  std::memcpy(static_cast<void*>(&header), record, kWordOffset);
  switch (word.kind) {
    case RecordKind::message:
      if (word.size > kSmallLimit) return false;
      if (word.size >= kOwnBuffer) return take_middling(link, header, word.size);
      copy_record_body(scratch_.data(), body, word.size);
      break;
    case RecordKind::begin: {
      std::uint64_t size = 0;
      if (word.size != sizeof size) return false;
      std::memcpy(&size, body, sizeof size);
      if (!link.inbox.begin(word.stream, header, size)) return false;
      break;
    }
    case RecordKind::data:
      if (!link.inbox.append(word.stream, {body, word.size})) return false;
      break;
    case RecordKind::close:
      // What came on the socket was sent before.
      if (link.socket != nullptr) link.socket->read_now();
      go_down(link, {ErrorCode::none, "the peer closed the link"});
      return true;
  }
  if (link.in.advance(word.size)) link.peer.summon();
  if (word.kind == RecordKind::message) {
    Message message(header, {scratch_.data(), word.size}, nullptr);
    events_.on_message(link.id, message);
  } else if (word.kind == RecordKind::data && link.inbox.is_complete(word.stream)) {
    deliver_stream(link, word.stream);
  }
  return true;
}

bool ShmTransport::take_middling(Link& link, const wire::Header& header, std::size_t size) {
  Buffer body = Buffer::allocate(size);
  const bool here = body.size() == size;
  if (here) std::memcpy(body.data(), link.in.record() + kBodyOffset, size);
  if (link.in.advance(size)) link.peer.summon();
  if (here) {
    Message message(header, body.view(), &body);
    events_.on_message(link.id, message);
  } else {
    Message message(header, Message::Discarded{});
    events_.on_message(link.id, message);
  }
  return true;
}

void ShmTransport::deliver_stream(Link& link, std::uint8_t stream) {
  Inbox::Arrived arrived = link.inbox.take(stream);
  idle_memory_.note_use();
  if (arrived.discarded) {
    Message message(arrived.header, Message::Discarded{});
    events_.on_message(link.id, message);
    return;
  }
  Message message(arrived.header, arrived.body.view(), &arrived.body);
  events_.on_message(link.id, message);
}

// If there is no place the link stays cold, and its producer goes on marking it.
void ShmTransport::make_hot(Link& link) {
  if (hot_count_ == kMaxHot) {
    std::size_t oldest = 0;
    for (std::size_t i = 1; i < hot_count_; ++i)
      if (hot_[i]->active_at_poll < hot_[oldest]->active_at_poll) oldest = i;
    if (polls_ - hot_[oldest]->active_at_poll < kIdlePolls) return;
    make_cold(oldest);
  }
  link.hot = true;
  link.active_at_poll = polls_;
  hot_[hot_count_++] = &link;
  doorbell_.set_cold(link.slot, false);
}

// Its producer may have written a record just before it could see that it has to mark the link.
void ShmTransport::make_cold(std::size_t hot_index) {
  Link& link = *hot_[hot_index];
  hot_[hot_index] = hot_[--hot_count_];
  link.hot = false;
  doorbell_.set_cold(link.slot, true);
  full_fence();
  if (link.in.peek() != 0) left_over_[link.slot / 64] |= std::uint64_t{1} << (link.slot % 64);
}

bool ShmTransport::has_work() {
  if (!queued_events_.empty() || !ending_.empty() || doorbell_.any_ready()) return true;
  for (const std::uint64_t word : left_over_)
    if (word != 0) return true;
  for (std::size_t i = 0; i < hot_count_; ++i)
    if (hot_[i]->in.peek() != 0 && hot_[i]->receives()) return true;
  for (Link* link : sending_) {
    const bool only_close_is_left = link->outbox.is_empty();
    if (only_close_is_left ? link->has_sent_all() && link->out.has_room(0)
                           : link->outbox.can_write(link->out))
      return true;
    if (link->out.is_violated()) return true;
  }
  return false;
}

bool ShmTransport::prepare_to_sleep() {
  if (!unfenced_.empty()) settle_notifications();
  if (has_work()) return false;
  if (armed_ && sending_.empty()) return true;
  for (Link* link : sending_) link->out.want_space(true);
  for (std::size_t i = 0; i < hot_count_; ++i) {
    if (hot_[i]->in.hand_back_all()) hot_[i]->peer.summon();
  }
  if (!std::exchange(armed_, true)) doorbell_.fall_asleep();
  full_fence();
  return !has_work();
}

}  // namespace godwit::fabric::shm
