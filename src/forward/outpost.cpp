// What a rank whose items lie elsewhere does otherwise than a CPU rank: it fills and takes chunks
// itself, and settles things with its like first.
#include "forward/outpost.hpp"

#include <utility>

#include "base/fail.hpp"
#include "forward/cpu_port.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {

std::optional<Rank> CpuPort::first_elsewhere() const noexcept {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (elsewhere_[static_cast<std::size_t>(rank)]) return rank;
  }
  return std::nullopt;
}

void CpuPort::send_note(Rank to, std::string_view bytes) {
  tell(to, {.kind = ControlKind::note}, bytes);
}

Result<Outpost::Note> CpuPort::await_note() {
  const auto may_write = [this](Rank rank) { return rank != rank_ && is_elsewhere(rank); };
  GODWIT_CHECK(wait_until([this] { return !notes_.empty(); }, may_write));
  Note note = std::move(notes_.front());
  notes_.pop_front();
  return note;
}

Chunk* CpuPort::take_chunk(std::size_t items_bytes) noexcept {
  Chunk* chunk = pool_->take(items_bytes);
  if (chunk == nullptr) {
    carrier_->recover();
    chunk = pool_->take(items_bytes);
  }
  return chunk != nullptr ? chunk : pool_->take_beyond(items_bytes);
}

Status CpuPort::send_chunk(Chunk* chunk) {
  const std::lock_guard lock(lock_);
  chunk->source = rank_;
  chunk->round = current_ + 1;
  chunk->sequence = all_chunks_sent_;
  if (chunk->kept != Chunk::Kept::beyond) {
    dispatch(chunk);
    return {};
  }
  const Status written = spill_.push(*chunk);
  if (written) spilled_ += chunk->count;
  give_back(chunk);
  return written;
}

Status CpuPort::begin_round(const Unseen& unseen) {
  GODWIT_CHECK(check_usable());
  unseen_ = unseen;
  wants_save_ = unseen.wants_save;
  send_round_end();
  return {};
}

Result<Outpost::Arrived> CpuPort::end_round() {
  GODWIT_CHECK(await_round());
  Arrived arrived{.round = {.number = current_ + 1,
                            .alive = filling().alive(),
                            .held_back = filling().held_back()},
                  .chunks = std::move(filling().chunks()),
                  .is_to_be_saved = filling().is_to_be_saved()};
  filling().clear();
  ++current_;
  for (const Chunk* const chunk : arrived.chunks) arrived.round.incoming += chunk->count;
  arrived_ += arrived.round.incoming;
  return arrived;
}

Status CpuPort::look_around() {
  (void)accept_arrivals();
  return check_peers([](Rank) { return false; });
}

Result<std::unique_ptr<Outpost>> Outpost::create(Group& group,
                                                 std::span<const detail::ItemType> types,
                                                 const ExchangeOptions& options,
                                                 const Arena& arena) {
  GODWIT_TRY(std::unique_ptr<Carrier> carrier, group.core().open({types, options}));
  std::shared_ptr<ChunkArena> memory = carrier->arena();
  if (arena) memory = arena(std::move(memory));
  auto port =
      std::make_unique<CpuPort>(group.rank(), group.ranks(), std::move(carrier), types, options,
                                CpuPort::Site{.is_elsewhere = true, .arena = std::move(memory)});
  GODWIT_CHECK(port->meet());
  return port;
}

}  // namespace godwit::forward
