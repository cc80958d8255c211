// One round: what was emitted becomes the destinations' incoming items.
#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "base/fail.hpp"
#include "forward/cpu_port.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {

Result<Round> CpuPort::advance() {
  PortTrace::Span span(trace_, "advance", 0);
  GODWIT_CHECK(check_usable());
  release_incoming();
  send_round_end();
  GODWIT_CHECK(await_round());
  const std::uint64_t alive = filling().alive();
  const std::uint64_t held_back = filling().held_back();
  is_to_be_saved_ = filling().is_to_be_saved();
  take_incoming();
  ++number_;
  std::uint64_t incoming = 0;
  for (const Chunk* const chunk : incoming_) incoming += chunk->count;
  span.count(incoming);
  queue_mark_.rise_to(trace_, pool_->high_bytes());
  return Round{.number = number_, .alive = alive, .incoming = incoming, .held_back = held_back};
}

void CpuPort::release_incoming() noexcept {
  for (Chunk* const chunk : incoming_mutable_) give_back(chunk);
  incoming_mutable_.clear();
  incoming_.clear();
}

// Sends the rest, and this rank's last word on the round to all, itself included.
void CpuPort::send_round_end() {
  const std::lock_guard lock(lock_);
  unspill();
  for (Outbox& outbox : outboxes_) {
    flush(outbox);
    outbox.begin_round();
  }
  Arrivals& mine = filling();
  for (Chunk* const chunk : std::exchange(stayed_, {})) {
    mine.add(chunk);
    ++chunks_sent_[static_cast<std::size_t>(rank_)];
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Control control{.kind = ControlKind::round_end,
                          .save = wants_save_ ? std::uint16_t{1} : std::uint16_t{0},
                          .chunks = std::exchange(chunks_sent_[static_cast<std::size_t>(rank)], 0),
                          .emitted = queued_sent_ + unseen_.emitted,
                          .held_back = spill_.items() + unseen_.held_back};
    if (rank == rank_) {
      mine.end(rank, control);
    } else {
      tell(rank, control);
    }
  }
  queued_sent_ = 0;
  wants_save_ = false;
  emitted_before_ = total_emitted() - spill_.items();
}

Status CpuPort::await_round() {
  const PortTrace::Span wait(trace_, "wait", 0);
  return wait_until([this] { return filling().whole(); },
                    [this](Rank rank) { return !filling().has_ended(rank); });
}

// The round is whole: folds what is reduced, and puts the rest in order.
void CpuPort::take_incoming() {
  std::vector<Chunk*> chunks = std::move(filling().chunks());
  filling().clear();
  ++current_;
  if (options_.deterministic) {
    // By kind before source, as on a GPU: when a chunk of one kind is full beside those of another
    // depends on its size and on the workers.
    std::sort(chunks.begin(), chunks.end(), [](const Chunk* a, const Chunk* b) {
      return std::tuple(a->priority < b->priority, a->kind, a->source, a->sequence) <
             std::tuple(b->priority < a->priority, b->kind, b->source, b->sequence);
    });
  } else {
    std::stable_sort(chunks.begin(), chunks.end(),
                     [](const Chunk* a, const Chunk* b) { return a->priority > b->priority; });
  }
  for (Chunk* const chunk : chunks) {
    arrived_ += chunk->count;
    if (types_[chunk->kind].form == detail::ItemForm::reduced) {
      fold(*chunk);
      give_back(chunk);
    } else {
      incoming_mutable_.push_back(chunk);
      incoming_.push_back(chunk);
    }
  }
}

void CpuPort::fold(const Chunk& chunk) {
  folds_[chunk.kind](chunk);
}

void CpuPort::process_incoming(const Process& process) {
  process_chunks(incoming_mutable_, process);
}

void CpuPort::process_chunks(std::span<Chunk* const> chunks, const Process& process) {
  if (workers_.size() == 1) {
    PortTrace::Span span(trace_, "process", 0);
    for (const Chunk* const chunk : chunks) {
      process_chunk(*chunk, 0, process);
      span.count(chunk->count);
    }
    return;
  }
  // In shares of neighbouring chunks if the order counts, else whoever is free takes the next.
  std::atomic<std::size_t> next = 0;
  workers_.run([&](std::size_t worker) {
    PortTrace::Span span(trace_, "process", worker);
    const bool shares = options_.deterministic;
    std::size_t i = shares ? chunks.size() * worker / workers_.size() : next++;
    const std::size_t end = shares ? chunks.size() * (worker + 1) / workers_.size() : chunks.size();
    for (; i < end; i = shares ? i + 1 : next++) {
      process_chunk(*chunks[i], worker, process);
      span.count(chunks[i]->count);
    }
  });
  if (options_.deterministic) end_pass();
}

// What is emitted from now on, by the host or by the next kernel, follows what all workers did.
void CpuPort::end_pass() noexcept {
  const std::lock_guard lock(lock_);
  for (Outbox& outbox : outboxes_) {
    flush(outbox);
    outbox.begin_next_pass();
  }
}

void CpuPort::process_chunk(const Chunk& chunk, std::size_t worker, const Process& process) {
  Outbox& outbox = outboxes_[worker];
  const std::uint64_t before = outbox.emitted_to_by_now(chunk.source);
  process(chunk, worker);
  if (chunk.source == rank_) return;
  outbox.note_sent_back(chunk.source, outbox.emitted_to_by_now(chunk.source) - before);
}

}  // namespace godwit::forward
