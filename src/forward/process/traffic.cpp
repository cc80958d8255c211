// What goes out of a process and comes into it: chunks, and the tickets of those that are done
// with.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "forward/control.hpp"
#include "forward/process/process_carrier.hpp"
#include "forward/process/process_member.hpp"

namespace godwit::forward {
namespace {

// Messages kept for exchanges that are yet to be made. Ranks say little before all have made one.
constexpr std::size_t kMaxEarly = 65536;
constexpr std::size_t kTicketsPerMessage = 1024;

}  // namespace

void ProcessMember::push_out() noexcept {
  if (reactor().try_run_as_owner([this] { drain(); })) return;
  if (drain_posted_.exchange(true, std::memory_order_acq_rel)) return;
  reactor().post([this] {
    drain_posted_.store(false, std::memory_order_release);
    drain();
  });
}

void ProcessMember::drain() {
  for (const auto& [exchange, carrier] : carriers_) drain(*carrier);
}

void ProcessMember::drain(ProcessCarrier& carrier) {
  for (Chunk* chunk = carrier.take_outgoing(); chunk != nullptr;) {
    dispatch(carrier, std::exchange(chunk, chunk->next));
  }
  Chunk* done = carrier.take_returned();
  if (done == nullptr) return;
  while (done != nullptr) take_back(carrier, std::exchange(done, done->next));
  for (Rank rank = 0; rank < ranks_; ++rank) send_credits(rank);
}

void ProcessMember::take_back(ProcessCarrier& carrier, Chunk* chunk) {
  auto* const parcel = static_cast<Parcel*>(chunk);
  if (parcel->ticket != ChunkWire::kNoTicket)
    peer(parcel->source).credits.push_back(parcel->ticket);
  carrier.recycle(parcel);
}

void ProcessMember::LooseHome::give_back(Chunk* chunk) noexcept {
  delete static_cast<Parcel*>(chunk);
}

// A chunk that goes on to a third process, which may have it for longer than its carrier lives.
Chunk* ProcessMember::detach(Chunk* chunk) {
  auto copy = std::make_unique<Parcel>();
  static_cast<Chunk&>(*copy) = *chunk;
  copy->home = &loose_;
  copy->body = Buffer::copy_of({chunk->items(), chunk->used});
  copy->data = copy->body.data();
  detail::give_back(chunk);
  return copy.release();
}

// By reference where the other can read this process's memory, else with its items. Control counts
// for no room and is forgotten as soon as it is sent.
void ProcessMember::dispatch(ProcessCarrier& carrier, Chunk* chunk) {
  const Rank to = chunk->destination;
  Departures& departures = peer(to).departures;
  if (!mesh_->is_up(to)) {
    detail::give_back(chunk);
    return;
  }
  if (carrier.owns(*chunk)) chunk = detach(chunk);
  ChunkWire wire = describe(*chunk, carrier.exchange());
  const bool is_control = chunk->kind == kControlKind;
  if (!is_control && carrier.is_seen_by(to)) {
    const std::size_t at = carrier.own_arena()->offset_of(chunk->items());
    if (at < carrier.own_arena()->size()) wire.items_at = at;
  }
  const std::uint32_t ticket = departures.add(chunk, wire);
  Departures::Entry& entry = departures[ticket];
  if (!is_control) entry.wire.ticket = ticket;
  const Bytes parts[] = {bytes_of_value(entry.wire), {chunk->items(), chunk->used}};
  const std::size_t count = wire.items_at == ChunkWire::kFollows ? 2 : 1;
  const auto sent = mesh_->send(to, {.kind = kind_of(RankMessage::chunk)}, {parts, count}, ticket);
  entry.borrowed = sent == fabric::Sent::later;
  entry.owed = !is_control && sent != fabric::Sent::down;
  departures.settle(ticket);
}

void ProcessMember::send_credits(Rank to) {
  std::vector<std::uint32_t>& credits = peer(to).credits;
  for (std::size_t at = 0; at < credits.size(); at += kTicketsPerMessage) {
    const std::size_t count = std::min(kTicketsPerMessage, credits.size() - at);
    const Bytes body = std::as_bytes(std::span(credits).subspan(at, count));
    (void)mesh_->send(to, {.kind = kind_of(RankMessage::credit)}, {&body, 1},
                      0);  // small: taken at once
  }
  credits.clear();
}

void ProcessMember::send_note(Rank to, RankMessage message, std::uint64_t id) {
  (void)mesh_->send(to, {.kind = kind_of(message), .id = id}, {}, 0);
}

void ProcessMember::on_sent(Rank to, std::uint64_t tag) {
  peer(to).departures.sent(static_cast<std::uint32_t>(tag));
}

void ProcessMember::on_message(Rank from, fabric::Message& message) {
  const wire::Header& header = message.header();
  Status status;
  switch (static_cast<RankMessage>(header.kind)) {
    case RankMessage::chunk: status = accept_chunk(from, message); break;
    case RankMessage::credit: status = accept_credits(from, message); break;
    case RankMessage::arena_seen:
      if (ProcessCarrier* const carrier = find(header.id);
          carrier != nullptr && carrier->own_arena() != nullptr) {
        carrier->set_seen_by(from);
      }
      break;
    case RankMessage::leave: peer(from).left_after = header.id; break;
    default:
      status = fail(ErrorCode::protocol_violation, "rank {} sent a message of unknown kind {}",
                    from, static_cast<unsigned>(header.kind));
  }
  if (!status) mesh_->cut(from, status.error());
}

Status ProcessMember::accept_chunk(Rank from, fabric::Message& message) {
  if (message.body_discarded()) {
    return fail(ErrorCode::out_of_memory, "no memory for items from rank {}", from);
  }
  GODWIT_TRY(const ChunkWire wire, peek_chunk(message.body()));
  if (ProcessCarrier* const carrier = find(wire.exchange)) return carrier->accept(from, message);
  if (wire.exchange >= opened_) {
    return keep_early(
        wire.exchange,
        {.from = from, .header = message.header(), .body = message.take_body(), .descriptor = {}});
  }
  // Of an exchange that this rank has left.
  if (wire.ticket != ChunkWire::kNoTicket) {
    peer(from).credits.push_back(wire.ticket);
    send_credits(from);
  }
  return {};
}

Status ProcessMember::keep_early(std::uint64_t exchange, Early early) {
  if (early_count_ >= kMaxEarly) {
    return fail(ErrorCode::protocol_violation,
                "rank {} has sent too much for exchanges that rank {} has not made", early.from,
                rank_);
  }
  ++early_count_;
  early_[exchange].push_back(std::move(early));
  return {};
}

Status ProcessMember::accept_credits(Rank from, const fabric::Message& message) {
  const Bytes body = message.body();
  bool is_good = body.size() % sizeof(std::uint32_t) == 0 && !message.body_discarded();
  for (std::size_t at = 0; is_good && at < body.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t ticket = 0;
    std::memcpy(&ticket, body.data() + at, sizeof ticket);
    is_good = peer(from).departures.returned(ticket);
  }
  if (is_good) return {};
  return fail(ErrorCode::protocol_violation, "rank {} sent back chunks it did not have", from);
}

void ProcessMember::on_descriptor(Rank from, const wire::Header& header, fabric::Fd descriptor) {
  if (header.kind != kind_of(RankMessage::arena)) return;
  ProcessCarrier* const carrier = find(header.id);
  if (carrier == nullptr) {
    if (header.id < opened_) return;
    const Status kept = keep_early(
        header.id,
        {.from = from, .header = header, .body = {}, .descriptor = std::move(descriptor)});
    if (!kept) mesh_->cut(from, kept.error());
    return;
  }
  // Without it the items are sent.
  if (auto memory = map_arena(descriptor, header.subject)) {
    carrier->see_memory(from, *std::move(memory));
    send_note(from, RankMessage::arena_seen, header.id);
  }
}

}  // namespace godwit::forward
