// Small messages that share an active message: over tcp each costs a system call on both sides.
//
// A turn ends with poll(). The first small message of a link in a turn leaves at once. Those that
// follow are collected, and leave together: when the batch is full, when it has grown old, at the
// beginning and the end of poll(), and before the owner sleeps. Nothing sets a timer. A thread that
// comes only to send, and neither polls nor sleeps afterwards, leaves its last messages to whoever
// polls next, the reactor's patrol at the latest; HoldTrust sees to it that this is rare.
#include <cstring>
#include <utility>

#include "fabric/ucx/batch.hpp"
#include "fabric/ucx/transport.hpp"
#include "wire/call.hpp"

namespace godwit::fabric::ucx {
namespace {

// A function that runs long on the polling thread keeps back the answers of those before it for as
// long as it runs, and those behind it no longer than this.
constexpr Duration kOldest = std::chrono::microseconds(20);

// A travelling call goes on without these: they only tell its last node, or its intake, that it
// has. They let the call itself go first.
bool can_wait(const wire::Header& header) noexcept {
  return header.kind == wire::Kind::hop_moved ||
         (header.kind == wire::Kind::hop_ended && (header.flags & wire::kAnswered) != 0);
}

}  // namespace

bool UcxTransport::joins_batch(Link& link, const wire::Header& header) {
  if (!link.takes_batches) return false;
  const bool first = !can_wait(header) && std::exchange(link.latest_turn, turn_) != turn_;
  return !first && (in_poll_ || link.batch != nullptr || hold_trust_.allows());
}

Sent UcxTransport::collect(Link& link, const wire::Header& header, std::span<const Bytes> parts,
                           std::size_t size) {
  const std::size_t entry_size = batch_entry_size(size);
  if (link.batch != nullptr && link.batch_size + entry_size > kSmallLimit) {
    send_batch(link);
    if (link.state != LinkState::up) return Sent::down;
  }
  if (link.batch == nullptr) {
    link.batch = prepare(link, {});
    if (link.batch == nullptr) return Sent::down;
    link.batch_size = 0;
    note_batch(link);
  }
  write_batch_entry(link.batch->bytes + link.batch_size, header, parts, size);
  link.batch_size += entry_size;
  ++collected_;
  ++counters_.batched_messages;
  return Sent::now;
}

void UcxTransport::note_batch(Link& link) {
  if (batching_.empty()) {
    oldest_batch_ = reactor_.now();
    collected_ = 0;
  }
  if (!std::exchange(link.has_batched, true)) batching_.push_back(link.id);
}

void UcxTransport::send_batch(Link& link) {
  SendCell* const cell = std::exchange(link.batch, nullptr);
  if (cell == nullptr) return;
  ++counters_.batches;
  (void)post(link, cell, kBatchAm,
             {.data = cell->bytes, .count = link.batch_size, .size = link.batch_size});
}

void UcxTransport::flush() {
  for (const LinkId id : batching_) {
    Link* const link = links_.find(id);
    if (link == nullptr) continue;
    link->has_batched = false;
    send_batch(*link);
  }
  batching_.clear();
}

void UcxTransport::flush_held() {
  if (batching_.empty()) return;
  hold_trust_.judge(reactor_.now() - oldest_batch_, collected_);
  flush();
}

void UcxTransport::flush_if_old() {
  if (!batching_.empty() && reactor_.now() - oldest_batch_ > kOldest) flush();
}

// Inside progress: checks the whole batch, copies it and takes a note.
ucs_status_t UcxTransport::on_batch(void* transport, const void* header, std::size_t header_size,
                                    void* data, std::size_t size,
                                    const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxTransport*>(transport);
  const bool is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  const std::size_t count =
      is_here && size <= kSmallLimit ? count_batch({static_cast<const std::byte*>(data), size}) : 0;
  if (count == 0) {
    ++self.counters_.malformed;
    return UCS_OK;
  }
  InboundCell* const cell = self.admit(header, header_size);
  if (cell == nullptr) return UCS_OK;
  cell->control = false;
  cell->body = InboundCell::Body::batch;
  cell->size = size;
  cell->begun = 0;
  std::memcpy(cell->bytes, data, size);
  self.batched_inbound_ += count;
  self.inbox_.push(cell);
  return UCS_OK;
}

// Delivers the next message of the batch. False: that was the last.
bool UcxTransport::deliver_batched(InboundCell& cell, Link& link) {
  const Bytes batch{cell.bytes, cell.size};
  auto next = read_batch_entry(batch, cell.begun);
  if (!next) return false;
  --batched_inbound_;
  if (link.state == LinkState::ending || !is_ready(link)) {
    ++counters_.late;
  } else {
    next->header.link_token = link.token;
    Message message(next->header, next->body, nullptr);
    events_.on_message(link.id, message);
  }
  return cell.begun < batch.size();
}

// The link of a batch is gone.
void UcxTransport::drop_batched(InboundCell& cell) {
  while (read_batch_entry({cell.bytes, cell.size}, cell.begun)) {
    --batched_inbound_;
    ++counters_.late;
  }
}

}  // namespace godwit::fabric::ucx
