// Receiving: UCX's callbacks put messages into the inbox, poll() hands them on.
#include <cstring>

#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

// Bodies are handed on as memory: whoever reads a struct out of one relies on this.
constexpr std::uintptr_t kBodyAlignment = 16;

bool is_aligned(const void* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % kBodyAlignment == 0;
}

}  // namespace

ucs_status_t UcxTransport::on_message(void* transport, const void* header, std::size_t header_size,
                                      void* data, std::size_t size,
                                      const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxTransport*>(transport);
  InboundCell* const cell = self.admit(header, header_size);
  if (cell == nullptr)
    return UCS_OK;  // a rendezvous is dropped too, and its sender told it is done
  cell->control = false;
  return self.take(cell, data, size, param->recv_attr);
}

ucs_status_t UcxTransport::on_control(void* transport, const void* header, std::size_t header_size,
                                      void*, std::size_t, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxTransport*>(transport);
  InboundCell* const cell = self.admit(header, header_size);
  if (cell == nullptr) return UCS_OK;
  cell->control = true;
  cell->body = InboundCell::Body::inlined;
  cell->size = 0;
  self.inbox_.push(cell);
  return UCS_OK;
}

// A cell for a message that belongs to a live link; null for any other.
InboundCell* UcxTransport::admit(const void* header, std::size_t header_size) {
  if (header_size != sizeof(wire::Header)) {
    ++counters_.malformed;
    return nullptr;
  }
  std::uint64_t token = 0;
  std::memcpy(&token, static_cast<const std::byte*>(header) + offsetof(wire::Header, link_token),
              sizeof token);
  const Link* const link = links_.find_token(token);
  if (link == nullptr) {
    ++counters_.unknown_token;
    return nullptr;
  }
  InboundCell* const cell = inbound_cells_.acquire();
  if (cell == nullptr) {
    ++counters_.late;
    return nullptr;
  }
  cell->transport = this;
  cell->link = link->id;
  cell->failed = false;
  cell->stream = 0;
  cell->unasked = false;
  std::memcpy(&cell->header, header, sizeof cell->header);
  return cell;
}

// The return value is UCX's: UCS_INPROGRESS keeps `data` until we release or fetch it.
ucs_status_t UcxTransport::take(InboundCell* cell, void* data, std::size_t size,
                                std::uint64_t attributes) {
  cell->size = size;
  cell->data = data;
  if ((attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    if (size <= options_.inbound_budget_bytes &&
        waiting_bodies_.size() < options_.max_waiting_bodies) {
      cell->body = InboundCell::Body::rendezvous;
      waiting_bodies_.push(cell);
      return UCS_INPROGRESS;
    }
    discard(cell);
    return UCS_OK;
  }
  ucs_status_t keep = UCS_OK;
  if (size <= kSmallLimit) {
    cell->body = InboundCell::Body::inlined;
    if (size > 0) std::memcpy(cell->bytes, data, size);
  } else if ((attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && is_aligned(data)) {
    cell->body = InboundCell::Body::descriptor;
    keep = UCS_INPROGRESS;
  } else {
    cell->buffer = Buffer::copy_of({static_cast<const std::byte*>(data), size});
    cell->body = cell->buffer.empty() ? InboundCell::Body::discarded : InboundCell::Body::owned;
  }
  inbox_.push(cell);
  return keep;
}

// Starts fetching bodies while there is memory for them, oldest first.
void UcxTransport::start_rendezvous() {
  while (InboundCell* const cell = waiting_bodies_.front()) {
    Link* const link = links_.find(cell->link);
    const bool gone = link == nullptr || link->state == LinkState::ending;
    if (!gone && fetching_bytes_ + cell->size > options_.inbound_budget_bytes) return;
    (void)waiting_bodies_.pop();
    if (gone) {
      ++counters_.late;
      forget_waiting(cell);
    } else if (cell->body == InboundCell::Body::offered) {
      accept_offer(*link, cell);
    } else {
      fetch(cell);
    }
  }
}

void UcxTransport::forget_waiting(InboundCell* cell) {
  if (cell->body == InboundCell::Body::rendezvous) {
    ucp_am_data_release(worker_->handle(), cell->data);
  }
  inbound_cells_.release(cell);
}

void UcxTransport::discard(InboundCell* cell) {
  cell->body = InboundCell::Body::discarded;
  inbox_.push(cell);
}

void UcxTransport::fetch(InboundCell* cell) {
  idle_memory_.note_use();
  cell->buffer = Buffer::allocate(cell->size);
  if (cell->buffer.data() == nullptr) {
    ucp_am_data_release(worker_->handle(), cell->data);
    discard(cell);
    return;
  }
  ++fetching_count_;
  fetching_bytes_ += cell->size;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = &UcxTransport::on_fetched;
  params.user_data = cell;
  void* const request =
      ucp_am_recv_data_nbx(worker_->handle(), cell->data, cell->buffer.data(), cell->size, &params);
  if (!UCS_PTR_IS_PTR(request)) fetched(cell, request == nullptr);
}

// Inside progress: takes a note.
void UcxTransport::on_fetched(void* request, ucs_status_t status, std::size_t, void* argument) {
  auto* const cell = static_cast<InboundCell*>(argument);
  ucp_request_free(request);
  static_cast<UcxTransport*>(cell->transport)->fetched(cell, status == UCS_OK);
}

void UcxTransport::fetched(InboundCell* cell, bool complete) {
  --fetching_count_;
  fetching_bytes_ -= cell->size;
  cell->body = InboundCell::Body::owned;
  cell->failed = !complete;
  inbox_.push(cell);
}

std::size_t UcxTransport::deliver_inbox(std::size_t budget) {
  std::size_t delivered = 0;
  while (delivered < budget) {
    InboundCell* const cell = inbox_.front();
    if (cell == nullptr) break;
    flush_if_old();
    ++delivered;
    Link* const link = links_.find(cell->link);
    const bool is_batch = cell->body == InboundCell::Body::batch;
    if (is_batch && link != nullptr && deliver_batched(*cell, *link)) continue;
    if (is_batch && link == nullptr) drop_batched(*cell);
    if (!is_batch && link != nullptr) deliver(*cell, *link);
    if (!is_batch && link == nullptr) ++counters_.late;
    release(inbox_.pop());
  }
  return delivered;
}

void UcxTransport::deliver(InboundCell& cell, Link& link) {
  if (link.state == LinkState::ending) {
    ++counters_.late;
    return;
  }
  const bool came_in_chunks = cell.body == InboundCell::Body::owned && cell.stream != 0;
  if (came_in_chunks) --link.inbound_bodies;
  const std::uint64_t unasked = came_in_chunks && cell.unasked ? cell.size : 0;
  hand_over(cell, link);
  if (unasked != 0 && link.state != LinkState::ending) unasked_delivered(link, unasked);
  // A bye overtakes bodies on the control socket.
  if (came_in_chunks && link.bye_received) peer_said_bye(link);
}

void UcxTransport::hand_over(InboundCell& cell, Link& link) {
  if (cell.failed) {
    // The contract has no lost messages within a live link.
    end(link, {ErrorCode::link_lost, "a message's body was lost on the way"});
    return;
  }
  if (cell.control) {
    handle_control(link, cell.header);
    return;
  }
  if (!is_ready(link)) {
    ++counters_.late;
    return;
  }
  if (cell.body == InboundCell::Body::discarded) {
    ++counters_.discarded_bodies;
    if (cell.stream != 0) (void)send_control(link, ControlWord::refuse, cell.stream);
    Message message(cell.header, Message::Discarded{});
    events_.on_message(link.id, message);
    return;
  }
  const auto* data = cell.bytes;
  if (cell.body == InboundCell::Body::owned) data = cell.buffer.data();
  if (cell.body == InboundCell::Body::descriptor) data = static_cast<std::byte*>(cell.data);
  Message message(cell.header, {data, cell.size},
                  cell.body == InboundCell::Body::owned ? &cell.buffer : nullptr);
  events_.on_message(link.id, message);
}

// A message has come: it may have overtaken its greeting, and says the same.
bool UcxTransport::is_ready(Link& link) {
  if (link.state == LinkState::wiring) peer_greeted(link);
  return link.state != LinkState::wiring && link.state != LinkState::ending;
}

void UcxTransport::handle_control(Link& link, const wire::Header& header) {
  switch (static_cast<ControlWord>(header.aux)) {
    case ControlWord::greeting: peer_greeted(link); return;
    case ControlWord::bye:
      link.unasked_in.before_bye = header.id;
      peer_said_bye(link);
      return;
    case ControlWord::go: answered(link, header.id, true); return;
    case ControlWord::refuse: answered(link, header.id, false); return;
    case ControlWord::coming: expect_bodies(link); return;
    case ControlWord::taken: peer_took(link, header.id); return;
    case ControlWord::lanes: open_lanes(link); return;
  }
  ++counters_.malformed;
}

void UcxTransport::release(InboundCell* cell) {
  if (cell->body == InboundCell::Body::descriptor) {
    ucp_am_data_release(worker_->handle(), cell->data);
  }
  cell->buffer.reset();
  inbound_cells_.release(cell);
}

}  // namespace godwit::fabric::ucx
