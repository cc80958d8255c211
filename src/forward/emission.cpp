// The slow path of emit: a chunk is full, and leaves.
#include <utility>

#include "base/fail.hpp"
#include "forward/cpu_port.hpp"

namespace godwit::forward {

Emitted CpuPort::refill(std::size_t worker, std::size_t slot, std::size_t bytes) noexcept {
  const std::lock_guard lock(lock_);
  return refill_locked(outboxes_[worker], slot, bytes);
}

Emitted CpuPort::refill_locked(Outbox& outbox, std::size_t slot, std::size_t bytes) noexcept {
  Chunk* next = pool_->take(bytes);
  if (next == nullptr) {
    carrier_->recover();
    next = pool_->take(bytes);
  }
  Chunk* const full = outbox.seal(slot, current_ + 1);
  if (full == nullptr) outbox.close(slot);
  const bool spills = options_.spill_bytes > 0 && !spill_error_;
  if (next == nullptr && spills && full != nullptr) {
    if (const Status written = spill_.push(*full)) {
      spilled_ += full->count;
      give_back(full);
      next = pool_->take(bytes);
    } else {
      spill_error_ = written.error();
      dispatch(full);
    }
  } else if (full != nullptr) {
    dispatch(full);
  }
  // Without room even for the first item of a slot: one chunk beyond the limit for it.
  if (next == nullptr && spills && !spill_error_) next = pool_->take_beyond(bytes);
  if (next == nullptr) return Emitted::full;
  next->source = rank_;
  outbox.open(slot, next);
  return Emitted::ok;
}

void CpuPort::refuse(Emitted why, std::uint32_t kind, Rank to) noexcept {
  const std::lock_guard lock(lock_);
  if (refusal_) return;
  const std::string_view name = types_[kind].name;
  switch (why) {
    case Emitted::ok: return;
    case Emitted::bad_rank:
      refusal_ = Error{ErrorCode::invalid_argument,
                       fmt::format("rank {} emitted a {} to rank {}; there are ranks 0 to {}",
                                   rank_, name, to, ranks_ - 1)};
      return;
    case Emitted::too_large:
      refusal_ =
          Error{ErrorCode::too_large,
                fmt::format("rank {} emitted a {} whose tail is larger than 64 MiB: split it, "
                            "or put it into an object and send its handle",
                            rank_, name)};
      return;
    case Emitted::full:
      refusal_ = Error{
          ErrorCode::resource_exhausted,
          spill_error_
              ? fmt::format("rank {} has no room for a {}: {}", rank_, name, spill_error_->message)
              : fmt::format("rank {} has no room for a {}: its {} bytes for outgoing items "
                            "are in use; raise ExchangeOptions::queue_bytes, or let items "
                            "spill to a file (spill_bytes)",
                            rank_, name, options_.queue_bytes)};
      return;
  }
}

void CpuPort::end_with(Error why) noexcept {
  const std::lock_guard lock(lock_);
  if (!refusal_) refusal_ = std::move(why);
}

void CpuPort::dispatch(Chunk* chunk) noexcept {
  if (types_[chunk->kind].form != detail::ItemForm::reduced) queued_sent_ += chunk->count;
  if (chunk->destination == rank_) {
    stayed_.push_back(chunk);
    return;
  }
  ++chunks_sent_[static_cast<std::size_t>(chunk->destination)];
  ++all_chunks_sent_;
  carrier_->send(chunk);
}

void CpuPort::flush(Outbox& outbox) noexcept {
  const std::size_t slots = outbox.cursors().size();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (Chunk* const chunk = outbox.seal(slot, current_ + 1)) dispatch(chunk);
  }
}

// What waits in the file leaves as far as there is room for it, in this round.
void CpuPort::unspill() noexcept {
  while (!spill_.empty()) {
    const std::size_t bytes = spill_.front().used;
    Chunk* chunk = pool_->take(bytes);
    // One that exceeds all room there is would wait for ever.
    if (chunk == nullptr && pool_->used_bytes() == 0) chunk = pool_->take_beyond(bytes);
    if (chunk == nullptr) return;
    if (const Status read = spill_.pop_into(*chunk); !read) {
      give_back(chunk);
      if (!refusal_) refusal_ = read.error();
      return;
    }
    chunk->round = current_ + 1;
    dispatch(chunk);
  }
}

}  // namespace godwit::forward
