// Large bodies over the control socket, where UCX would have only tcp: from the sender's memory to
// the receiver's, without UCX's copies. UCX's own way to spare those copies, zero-copy sends, ends
// the process when a peer dies (see Worker).
//
// The sender offers a body by an active message; the receiver answers `go` when it has memory for
// it, or `refuse`; then the body follows in chunks, those of several bodies by turns. As long as
// the link's window has room the sender asks nobody (unasked.cpp).
#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/ucx/offer.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

template <class Bodies>
auto find_stream(Bodies& bodies, std::uint64_t stream) {
  return std::find_if(bodies.begin(), bodies.end(),
                      [stream](const OutgoingBody& body) { return body.stream == stream; });
}

InboundCell* find_arriving(const Link& link, std::uint64_t stream) {
  for (InboundCell* const cell : link.arriving) {
    if (cell->stream == stream) return cell;
  }
  return nullptr;
}

}  // namespace

bool UcxTransport::has_arriving(const Link& link, std::uint64_t stream) {
  return find_arriving(link, stream) != nullptr;
}

Sent UcxTransport::offer(Link& link, const wire::Header& header, std::span<const Bytes> parts,
                         std::size_t size, std::uint64_t tag) {
  SendCell* const cell = prepare(link, header);
  if (cell == nullptr) return Sent::down;
  const Offer offered{.size = size, .stream = link.next_stream++};
  std::memcpy(cell->bytes, &offered, sizeof offered);
  if (post(link, cell, kOfferAm,
           {.data = cell->bytes, .count = sizeof offered, .size = sizeof offered}) == Sent::down) {
    return Sent::down;
  }
  idle_memory_.note_use();
  OutgoingBody body;
  body.stream = offered.stream;
  body.tag = tag;
  body.parts.assign(parts.begin(), parts.end());
  body.left = size;
  link.offered.push_back(std::move(body));
  return Sent::later;
}

// Inside progress: takes a note.
ucs_status_t UcxTransport::on_offer(void* transport, const void* header, std::size_t header_size,
                                    void* data, std::size_t size, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxTransport*>(transport);
  const auto offered = parse_offer({static_cast<const std::byte*>(data), size});
  if (!offered) {
    ++self.counters_.malformed;
    return UCS_OK;
  }
  InboundCell* const cell = self.admit(header, header_size);
  if (cell == nullptr) return UCS_OK;
  cell->control = false;
  cell->size = offered->size;
  cell->stream = offered->stream;
  cell->lane = nullptr;
  cell->begun = 0;
  if (offered->size <= self.options_.inbound_budget_bytes &&
      self.waiting_bodies_.size() < self.options_.max_waiting_bodies) {
    cell->body = InboundCell::Body::offered;
    self.waiting_bodies_.push(cell);
  } else {
    self.discard(cell);
  }
  return UCS_OK;
}

void UcxTransport::accept_offer(Link& link, InboundCell* cell) {
  idle_memory_.note_use();
  cell->buffer = Buffer::allocate(cell->size);
  if (cell->buffer.data() == nullptr) {
    discard(cell);
    return;
  }
  ++fetching_count_;
  fetching_bytes_ += cell->size;
  ++link.inbound_bodies;
  link.arriving.push_back(cell);
  start_moving(link);
  (void)send_control(link, ControlWord::go, cell->stream);
}

void UcxTransport::answered(Link& link, std::uint64_t stream, bool wanted) {
  const auto it = find_stream(link.offered, stream);
  if (it == link.offered.end()) {
    ++counters_.malformed;
    return;
  }
  if (wanted) {
    lane_for(link).going.push_back(std::move(*it));
  } else {
    sent_bodies_.push_back({link.id, it->tag});
  }
  link.offered.erase(it);
  start_moving(link);
  want_lanes(link);
}

MutableBytes UcxTransport::chunk_begins(Lane& lane, std::uint64_t stream, std::size_t size) {
  InboundCell* const cell = find_arriving(lane.link, stream);
  if (cell == nullptr || size > cell->size - cell->begun) return {};
  // On two lanes at once one chunk could end while the other is being written.
  if (cell->lane == nullptr) cell->lane = &lane;
  if (cell->lane != &lane) return {};
  const std::size_t offset = std::exchange(cell->begun, cell->begun + size);
  return cell->buffer.mutable_view().subspan(offset, size);
}

void UcxTransport::chunk_arrived(Lane& lane, std::uint64_t stream) {
  Link& link = lane.link;
  InboundCell* const cell = find_arriving(link, stream);
  if (cell->begun < cell->size) return;
  std::erase(link.arriving, cell);
  if (cell->unasked) expect_bodies(link);
  fetched(cell, true);
}

void UcxTransport::start_moving(Link& link) {
  if (link.moves_bodies) return;
  link.moves_bodies = true;
  moving_.push_back(link.id);
}

// Starts the next chunk unless one is on its way: one a turn, so that other links get theirs. A
// body whose last chunk has left is noted.
void UcxTransport::feed(Lane& lane) {
  if (!lane.can_send()) return;
  if (std::exchange(lane.chunk_of_front, false)) end_turn(lane);
  if (lane.going.empty()) return;
  OutgoingBody::Pieces pieces;
  lane.chunk_of_front = true;
  OutgoingBody& front = lane.going.front();
  const std::optional<Notice> notice = std::exchange(front.notice, std::nullopt);
  lane.socket->send_chunk(front.stream, front.next_chunk(pieces),
                          notice ? bytes_of_value(*notice) : Bytes{});
}

// A chunk of the front one has left.
void UcxTransport::end_turn(Lane& lane) {
  OutgoingBody& front = lane.going.front();
  if (front.left > 0 && front.turn_left > 0) return;
  OutgoingBody body = std::move(front);
  lane.going.pop_front();
  if (body.left > 0) {
    body.turn_left = OutgoingBody::kTurn;
    lane.going.push_back(std::move(body));
  } else {
    sent_bodies_.push_back({lane.link.id, body.tag});
  }
}

// True: a poll would move something that no descriptor tells of.
bool UcxTransport::can_feed() const {
  if (!sent_bodies_.empty()) return true;
  return std::any_of(moving_.begin(), moving_.end(), [this](LinkId id) {
    const Link* const link = links_.find(id);
    if (link == nullptr) return false;
    const auto can = [](const Lane& lane) { return !lane.going.empty() && lane.can_send(); };
    return can(link->main) || std::any_of(link->more.begin(), link->more.end(),
                                          [&](const auto& lane) { return can(*lane); });
  });
}

std::size_t UcxTransport::move_bodies() {
  std::size_t moved = 0;
  const Time now = reactor_.now();
  for (std::size_t i = moving_.size(); i-- > 0;) {
    Link* const link = links_.find(moving_[i]);
    if (link != nullptr && link->main.socket != nullptr) {
      const bool expects = !link->arriving.empty() || now < link->unasked_in.expected_until;
      moved += move_lane(link->main, expects);
      // What arrives may end the link, and its lanes.
      for (std::size_t j = 0; j < link->more.size(); ++j)
        moved += move_lane(*link->more[j], expects);
      if (link->main.socket != nullptr && (expects || has_going(*link))) continue;
    }
    if (link != nullptr) link->moves_bodies = false;
    moving_[i] = moving_.back();
    moving_.pop_back();
  }
  return moved + deliver_sent_bodies();
}

std::size_t UcxTransport::move_lane(Lane& lane, bool reads) {
  const LinkId id = lane.link.id;
  const bool moved = lane.socket->move_chunks(reads);
  const Link* const link = links_.find(id);
  if (link != nullptr && link->state != LinkState::ending) feed(lane);
  return moved ? 1 : 0;
}

std::size_t UcxTransport::deliver_sent_bodies() {
  const std::vector<SentBody> sent = std::exchange(sent_bodies_, {});
  for (const SentBody& body : sent) {
    Link* const link = links_.find(body.link);
    if (link == nullptr) continue;
    if (link->state == LinkState::saying_bye) say_bye(*link);
    if (link->state != LinkState::ending) events_.on_sent(link->id, body.tag);
  }
  return sent.size();
}

// The socket is gone: nobody reads or writes the bodies any more.
void UcxTransport::drop_bodies(Link& link) {
  link.offered.clear();
  link.main.going.clear();
  link.main.chunk_of_front = false;
  for (InboundCell* const cell : std::exchange(link.arriving, {})) {
    --fetching_count_;
    fetching_bytes_ -= cell->size;
    release(cell);
  }
}

}  // namespace godwit::fabric::ucx
