#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"
#include "fabric/relay/transport.hpp"

namespace godwit::fabric::relay {
namespace {

// Sealed in one go for one link before others get their turn.
constexpr std::size_t kSealedPerTurn = std::size_t{1} << 20;
// A small message waits behind no more of large ones than this, and what the system has taken.
constexpr std::size_t kReadyBytes = SealedStream::kMaxText;

}  // namespace

Sent RelayTransport::send(LinkId id, const wire::Header& header, std::span<const Bytes> parts,
                          std::uint64_t tag) {
  reactor_.assert_owner();
  Link* const link = links_.find(id);
  if (link == nullptr || link->state != LinkState::up) return Sent::down;
  const std::size_t size = total_size(parts);
  if (size <= kSmallLimit) {
    pieces_.clear();
    pieces_.push_back(bytes_of_value(header));
    pieces_.insert(pieces_.end(), parts.begin(), parts.end());
    if (!put(*link, RecordKind::message, 0, pieces_)) return Sent::down;
    // In a poll several may leave together, at its end.
    if (in_poll_) {
      mark_busy(*link);
    } else {
      write(*link);
    }
    return Sent::now;
  }
  idle_memory_.note_use();
  OutgoingBody body;
  body.header = header;
  body.tag = tag;
  body.parts.assign(parts.begin(), parts.end());
  body.size = body.left = size;
  link->bodies.push_back(std::move(body));
  mark_busy(*link);
  return Sent::later;
}

// False: the link has ended.
bool RelayTransport::put(Link& link, RecordKind kind, std::uint32_t stream,
                         std::span<const Bytes> parts) {
  if (link.stream->queued_bytes() > kMaxQueuedBytes) {
    end(link, lost(link, {ErrorCode::link_lost, "it does not take what is sent to it"}));
    return false;
  }
  if (Status sealed = link.stream->put(kind, stream, parts); !sealed) {
    end(link, std::move(sealed).error());
    return false;
  }
  return true;
}

void RelayTransport::write(Link& link) {
  if (link.blocked || link.state == LinkState::ended) return;
  const auto moved = link.stream->write();
  if (!moved) {
    end(link, lost(link, moved.error()));
    return;
  }
  if (*moved == SealedStream::Moved::some) link.last_sent = reactor_.now();
  if (link.stream->queued_bytes() == 0) return;
  link.blocked = true;
  if (const Status watched = reactor_.rewatch(link.stream->fd(), EPOLLIN | EPOLLOUT); !watched) {
    end(link, watched.error());
  }
}

// Writes what waits, and seals more of the bodies while the socket takes it.
void RelayTransport::feed(Link& link) {
  std::size_t sealed = 0;
  while (link.state == LinkState::up || link.state == LinkState::saying_bye) {
    if (link.stream->queued_bytes() >= kReadyBytes) write(link);
    if (link.blocked || link.bodies.empty() || sealed >= kSealedPerTurn) break;
    const std::size_t before = link.stream->queued_bytes();
    seal_next_piece(link);
    sealed += link.stream->queued_bytes() - before;
  }
  if (link.state == LinkState::saying_bye && link.bodies.empty()) say_bye(link);
  if (link.stream->queued_bytes() != 0) write(link);
  if (link.bye_sent && link.bye_received && link.stream->queued_bytes() == 0) end(link, {});
}

// Of the first body; then it is the next one's turn.
void RelayTransport::seal_next_piece(Link& link) {
  OutgoingBody body = std::move(link.bodies.front());
  link.bodies.pop_front();
  if (body.stream == 0) {
    body.stream = link.next_stream++;
    if (link.next_stream == 0) link.next_stream = 1;
    const std::array<Bytes, 2> head{bytes_of_value(body.header), bytes_of_value(body.size)};
    if (!put(link, RecordKind::first, body.stream, head)) return;
  }
  body.take(SealedStream::kMaxText, pieces_);
  if (!put(link, RecordKind::more, body.stream, pieces_)) return;
  if (body.left == 0) {
    sent_.push_back({link.id, body.tag});
    return;
  }
  const std::size_t place = std::min(link.bodies.size(), kMaxStreams - 1);
  link.bodies.insert(link.bodies.begin() + static_cast<std::ptrdiff_t>(place), std::move(body));
}

void RelayTransport::say_bye(Link& link) {
  if (std::exchange(link.bye_sent, true)) return;
  (void)put(link, RecordKind::bye, 0, {});
}

std::size_t RelayTransport::deliver_sent() {
  const std::vector<SentBody> sent = std::exchange(sent_, {});
  for (const SentBody& body : sent) {
    const Link* const link = links_.find(body.link);
    if (link != nullptr && link->state != LinkState::ended) events_.on_sent(body.link, body.tag);
  }
  return sent.size();
}

}  // namespace godwit::fabric::relay
