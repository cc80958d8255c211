// Sending: the hot path of a call over the network.
#include "base/parts.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

// Larger bodies go by rendezvous: the receiver says when. Smaller ones are buffered by UCX at the
// receiver before anybody there has seen the header.
constexpr std::size_t kEagerLimit = 64 * 1024;
// Without RDMA, bodies larger than this are offered and go over the control socket; below, the
// answer to the offer takes longer than UCX's copies. Those that nobody has to ask for
// (unasked.cpp) go there from kEagerLimit on.
constexpr std::size_t kRendezvousLimit = 512 * 1024;

}  // namespace

UcxTransport::Body UcxTransport::borrow(SendCell& cell, std::span<const Bytes> parts,
                                        std::size_t size) noexcept {
  auto* const vector = reinterpret_cast<ucp_dt_iov_t*>(cell.bytes);
  std::size_t entries = 0;
  for (const Bytes part : parts) {
    if (part.empty()) continue;
    // UCX's vectors serve sends and receives alike; a send only reads.
    vector[entries++] = {.buffer = const_cast<std::byte*>(part.data()), .length = part.size()};
  }
  cell.borrowed = true;
  if (entries == 1) return {.data = vector[0].buffer, .count = size, .size = size};
  return {.data = vector, .count = entries, .size = size, .is_vector = true};
}

Sent UcxTransport::send(LinkId id, const wire::Header& header, std::span<const Bytes> parts,
                        std::uint64_t tag) {
  reactor_.assert_owner();
  Link* const link = links_.find(id);
  if (link == nullptr || link->state != LinkState::up) return Sent::down;
  const std::size_t size = total_size(parts);
  if (size <= kBatchedLimit && joins_batch(*link, header))
    return collect(*link, header, parts, size);
  if (size > kEagerLimit && goes_unasked(*link, size))
    return send_unasked(*link, header, parts, size, tag);
  if (size > kRendezvousLimit && sends_bodies_itself_)
    return offer(*link, header, parts, size, tag);
  SendCell* const cell = prepare(*link, header);
  if (cell == nullptr) return Sent::down;
  cell->tag = tag;
  if (size <= kSmallLimit) {
    gather(parts, cell->bytes);
    return post(*link, cell, kMessageAm, {.data = cell->bytes, .count = size, .size = size});
  }
  if (parts.size() <= SendCell::kMaxParts) {
    return post(*link, cell, kMessageAm, borrow(*cell, parts, size));
  }
  cell->copy = Buffer::allocate(size);
  if (cell->copy.data() == nullptr) return give_up(*link, cell);
  gather(parts, cell->copy.data());
  return post(*link, cell, kMessageAm, {.data = cell->copy.data(), .count = size, .size = size});
}

bool UcxTransport::send_control(Link& link, ControlWord word, std::uint64_t id) {
  wire::Header header;
  header.aux = static_cast<std::uint32_t>(word);
  header.id = id;
  SendCell* const cell = prepare(link, header);
  return cell != nullptr && post(link, cell, kControlAm, {.data = cell->bytes}) != Sent::down;
}

// A cell with the link's header in it; null, and the link ends, if there is no memory.
SendCell* UcxTransport::prepare(Link& link, const wire::Header& header) {
  SendCell* const cell = send_cells_.acquire();
  if (cell == nullptr) {
    end(link, {ErrorCode::out_of_memory, "no memory left for a message to send"});
    return nullptr;
  }
  cell->transport = this;
  cell->link = link.id;
  cell->borrowed = false;
  cell->header = header;
  cell->header.link_token = link.peer_token;
  return cell;
}

Sent UcxTransport::give_up(Link& link, SendCell* cell) {
  send_cells_.release(cell);
  end(link, {ErrorCode::out_of_memory, "no memory left for a message to send"});
  return Sent::down;
}

Sent UcxTransport::post(Link& link, SendCell* cell, unsigned am_id, const Body& body) {
  ucp_request_param_t params;  // only what the mask names is read
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = &UcxTransport::on_sent;
  params.user_data = cell;
  params.datatype = body.is_vector ? ucp_dt_make_iov() : ucp_dt_make_contig(1);
  params.flags = body.size > kEagerLimit ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  void* const request = ucp_am_send_nbx(link.endpoint.handle(), am_id, &cell->header,
                                        sizeof cell->header, body.data, body.count, &params);
  backoff_.found_something();
  if (request == nullptr) {
    recycle(cell);
    return Sent::now;
  }
  if (UCS_PTR_IS_ERR(request)) {
    recycle(cell);
    end(link,
        ucx_error(ErrorCode::link_lost, "UCX cannot send to the peer", UCS_PTR_STATUS(request)));
    return Sent::down;
  }
  ++link.sends_in_flight;
  return cell->borrowed ? Sent::later : Sent::now;
}

void UcxTransport::recycle(SendCell* cell) noexcept {
  cell->copy.reset();
  send_cells_.release(cell);
}

// Inside progress: takes a note.
void UcxTransport::on_sent(void* request, ucs_status_t status, void* argument) {
  auto* const cell = static_cast<SendCell*>(argument);
  cell->status = status;
  ucp_request_free(request);
  static_cast<UcxTransport*>(cell->transport)->finished_sends_.push(cell);
}

std::size_t UcxTransport::deliver_sent() {
  std::size_t delivered = 0;
  while (SendCell* const cell = finished_sends_.pop()) {
    Link* const link = links_.find(cell->link);
    const bool tell = cell->borrowed && cell->status == UCS_OK;
    const std::uint64_t tag = cell->tag;
    recycle(cell);
    ++delivered;
    if (link == nullptr) continue;
    --link->sends_in_flight;
    if (link->state == LinkState::saying_bye) say_bye(*link);
    // In `ending` on_down is about to release what is borrowed.
    if (tell && link->state != LinkState::ending) events_.on_sent(link->id, tag);
  }
  return delivered;
}

}  // namespace godwit::fabric::ucx
