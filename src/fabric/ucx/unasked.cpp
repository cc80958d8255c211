// Bodies that leave without having been asked for, while the link's window has room: the answer to
// an offer would take as long as a megabyte does, and a receiver that computes meanwhile gives
// none. So the next body lies in the sockets' buffers when the receiver comes back for it.
//
// Both sides count. The sender stops at the window and offers what is beyond it; the receiver says
// what it has taken. A peer that sends more than its window is no peer.
#include <utility>

#include "base/fail.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {

bool UcxTransport::goes_unasked(const Link& link, std::uint64_t size) const {
  return sends_bodies_itself_ && link.unasked_out.allowed && size >= kLeastUnasked &&
         size <= link.unasked_out.window;
}

Sent UcxTransport::send_unasked(Link& link, const wire::Header& header,
                                std::span<const Bytes> parts, std::size_t size, std::uint64_t tag) {
  UnaskedOut& out = link.unasked_out;
  const Time now = reactor_.now();
  // A receiver that polls looks at its sockets now and then only.
  if (std::exchange(out.latest, now) + kNextBodyWithin / 2 < now &&
      !send_control(link, ControlWord::coming)) {
    return Sent::down;
  }
  idle_memory_.note_use();
  out.window -= size;
  ++out.bodies;
  OutgoingBody body;
  body.stream = link.next_stream++;
  body.tag = tag;
  body.parts.assign(parts.begin(), parts.end());
  body.left = size;
  body.notice = Notice{.header = header, .body = {.size = size, .stream = body.stream}};
  Lane& lane = lane_for(link);
  lane.going.push_back(std::move(body));
  start_moving(link);
  // More than one chunk takes its time: whoever sends may have something else to say first.
  if (size <= OutgoingBody::kChunk) feed(lane);
  want_lanes(link);
  return Sent::later;
}

Status UcxTransport::body_announced(Lane& lane, Bytes bytes) {
  Link& link = lane.link;
  const auto notice = parse_notice(bytes);
  UnaskedIn& in = link.unasked_in;
  if (!notice || !link.unasked_out.allowed || in.bytes + notice->body.size > kUnaskedWindow ||
      has_arriving(link, notice->body.stream)) {
    return fail(ErrorCode::protocol_violation, "it announced a body that it may not send");
  }
  InboundCell* const cell = inbound_cells_.acquire();
  Buffer memory = Buffer::allocate(notice->body.size);
  if (cell == nullptr || memory.data() == nullptr) {
    if (cell != nullptr) inbound_cells_.release(cell);
    return fail(ErrorCode::out_of_memory, "no memory for a body of {} bytes", notice->body.size);
  }
  idle_memory_.note_use();
  cell->transport = this;
  cell->link = link.id;
  cell->failed = false;
  cell->control = false;
  cell->unasked = true;
  cell->body = InboundCell::Body::offered;
  cell->header = notice->header;
  cell->size = notice->body.size;
  cell->stream = notice->body.stream;
  cell->lane = &lane;
  cell->begun = 0;
  cell->buffer = std::move(memory);
  in.bytes += cell->size;
  ++in.bodies;
  ++fetching_count_;
  fetching_bytes_ += cell->size;
  ++link.inbound_bodies;
  link.arriving.push_back(cell);
  expect_bodies(link);
  return {};
}

void UcxTransport::expect_bodies(Link& link) {
  link.unasked_in.expected_until = reactor_.now() + kNextBodyWithin;
  start_moving(link);
}

// Somebody above has the body: the peer may send as much again.
void UcxTransport::unasked_delivered(Link& link, std::uint64_t size) {
  UnaskedIn& in = link.unasked_in;
  in.delivered += size;
  if (in.delivered < kToldTogether) return;
  const std::uint64_t taken = std::exchange(in.delivered, 0);
  in.bytes -= taken;
  (void)send_control(link, ControlWord::taken, taken);
}

void UcxTransport::peer_took(Link& link, std::uint64_t bytes) {
  std::uint64_t& window = link.unasked_out.window;
  if (bytes > kUnaskedWindow - window) {
    ++counters_.malformed;
    return;
  }
  window += bytes;
}

}  // namespace godwit::fabric::ucx
