#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/relay/transport.hpp"

namespace godwit::fabric::relay {
namespace {

// Opened in one go for one link before others get their turn.
constexpr std::size_t kReadPerTurn = std::size_t{1} << 20;
constexpr std::size_t kFirstSize = sizeof(wire::Header) + sizeof(std::uint64_t);

Status nonsense(const char* what) {
  return fail(ErrorCode::protocol_violation, "the peer sent {}", what);
}

}  // namespace

void RelayTransport::link_ready(Link& link, std::uint32_t ready) {
  if ((ready & EPOLLOUT) != 0) {
    link.blocked = false;
    if (const Status watched = reactor_.rewatch(link.stream->fd(), EPOLLIN); !watched) {
      end(link, watched.error());
      return;
    }
  }
  if ((ready & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) link.readable = true;
  mark_busy(link);
}

void RelayTransport::mark_busy(Link& link) {
  if (std::exchange(link.busy, true)) return;
  busy_.push_back(link.id);
}

bool RelayTransport::has_work(const Link& link) const {
  if (link.state == LinkState::ended) return false;
  return link.readable ||
         (!link.blocked && (!link.bodies.empty() || link.stream->queued_bytes() != 0));
}

// Returns how many records it handled.
std::size_t RelayTransport::receive(Link& link, std::size_t budget) {
  std::size_t records = 0;
  std::size_t bytes = 0;
  while (link.state != LinkState::ended && records < budget && bytes < kReadPerTurn) {
    const auto record = link.stream->next();
    if (!record) {
      end(link, lost(link, record.error()));
      break;
    }
    if (*record) {
      ++records;
      bytes += (*record)->text_size;
      if (Status taken = take(link, **record); !taken) end(link, lost(link, taken.error()));
      continue;
    }
    const auto moved = link.stream->read();
    if (!moved) {
      end(link, lost(link, moved.error()));
    } else if (*moved == SealedStream::Moved::ended) {
      end(link, lost(link, {ErrorCode::link_lost, "the connection ended without a farewell"}));
    } else if (*moved == SealedStream::Moved::none) {
      link.readable = false;
      break;
    } else {
      link.last_heard = reactor_.now();
    }
  }
  return records;
}

Status RelayTransport::take(Link& link, const SealedStream::Record& record) {
  if ((link.state == LinkState::greeting) != (record.kind == RecordKind::hello)) {
    return nonsense("a hello too many, or none");
  }
  if (record.kind == RecordKind::more) return take_more(link, record);
  const MutableBytes text = text_.mutable_view().first(record.text_size);
  if (Status opened = link.stream->open(record, text); !opened) {
    ++counters_.unsealed;
    return opened;
  }
  switch (record.kind) {
    case RecordKind::hello: return take_hello(link, text);
    case RecordKind::message: return take_message(link, text);
    case RecordKind::first: return take_first(link, record.stream, text);
    case RecordKind::bye: take_bye(link); return {};
    case RecordKind::beat:
    case RecordKind::more: break;
  }
  return {};
}

Status RelayTransport::take_hello(Link& link, Bytes text) {
  reactor_.cancel(link.deadline);
  link.peer.blob = text_of(text);
  link.state = LinkState::up;
  link.announced = true;
  const Hello peer = std::move(link.peer);
  events_.on_up(link.id, peer);
  return {};
}

Status RelayTransport::take_message(Link& link, MutableBytes text) {
  wire::Header header;
  if (text.size() < sizeof header) return nonsense("a message without a header");
  std::memcpy(&header, text.data(), sizeof header);
  Message message(header, text.subspan(sizeof header), nullptr);
  events_.on_message(link.id, message);
  return {};
}

Status RelayTransport::take_first(Link& link, std::uint32_t stream, Bytes text) {
  ArrivingBody arriving;
  arriving.stream = stream;
  const bool known = std::ranges::any_of(
      link.arriving, [stream](const ArrivingBody& one) { return one.stream == stream; });
  if (text.size() != kFirstSize || known || link.arriving.size() >= kMaxStreams) {
    return nonsense("a body that breaks the rules");
  }
  std::memcpy(&arriving.header, text.data(), sizeof arriving.header);
  std::memcpy(&arriving.size, text.data() + sizeof arriving.header, sizeof arriving.size);
  if (arriving.size == 0) return nonsense("an empty body in pieces");
  idle_memory_.note_use();
  if (arriving.size <= options_.inbound_budget_bytes - inbound_bytes_) {
    arriving.body = Buffer::allocate(arriving.size);
  }
  if (arriving.body.data() != nullptr) {
    inbound_bytes_ += arriving.size;
  } else {
    arriving.body = {};
    ++counters_.discarded_bodies;
  }
  link.arriving.push_back(std::move(arriving));
  return {};
}

// Into the body's own memory, which nobody sees before all of it has opened.
Status RelayTransport::take_more(Link& link, const SealedStream::Record& record) {
  const auto found = std::ranges::find(link.arriving, record.stream, &ArrivingBody::stream);
  if (found == link.arriving.end() || record.text_size > found->size - found->arrived) {
    return nonsense("a piece of a body that it had not announced");
  }
  const MutableBytes room =
      found->body.empty() ? text_.mutable_view().first(record.text_size)
                          : found->body.mutable_view().subspan(found->arrived, record.text_size);
  if (Status opened = link.stream->open(record, room); !opened) {
    ++counters_.unsealed;
    return opened;
  }
  found->arrived += record.text_size;
  if (found->arrived < found->size) return {};
  ArrivingBody whole = std::move(*found);
  link.arriving.erase(found);
  if (whole.body.empty()) {
    Message message(whole.header, Message::Discarded{});
    events_.on_message(link.id, message);
    return {};
  }
  inbound_bytes_ -= whole.size;
  Message message(whole.header, whole.body.view(), &whole.body);
  events_.on_message(link.id, message);
  return {};
}

// Who is closing too finishes what it was sending: feed() ends the link then.
void RelayTransport::take_bye(Link& link) {
  link.bye_received = true;
  if (link.state == LinkState::up) end(link, {ErrorCode::none, "the peer closed the link"});
}

void RelayTransport::drop_arriving(Link& link) {
  for (const ArrivingBody& body : link.arriving) {
    if (!body.body.empty()) inbound_bytes_ -= body.size;
  }
  link.arriving.clear();
}

}  // namespace godwit::fabric::relay
