// run(): until no item is left anywhere, by rounds or without.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "forward/cpu_port.hpp"
#include "forward/save_schedule.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {
namespace {

// Chunks that a worker processes before the rank looks at what has come.
constexpr std::size_t kBatch = 4;
// And so many times, before what has been emitted meanwhile leaves, full or not.
constexpr int kBatchesBeforeFlush = 8;

}  // namespace

Result<RunReport> CpuPort::run(const Process& process, const RunOptions& options) {
  const bool rounds = options.pace == Pace::rounds || options_.deterministic || options.saves();
  if (rounds || first_elsewhere()) {
    return run_rounds(process, options);
  }
  return run_free(process);
}

Result<RunReport> CpuPort::run_rounds(const Process& process, const RunOptions& options) {
  RunReport report;
  SaveSchedule schedule(options);
  for (;;) {
    wants_save_ = rank_ == 0 && schedule.ends_round();
    GODWIT_TRY(const Round round, advance());
    ++report.rounds;
    if (round.alive == 0) return report;
    if (is_to_be_saved_) {
      GODWIT_CHECK(checkpoint(options.checkpoint_folder));
      schedule.note_saved();
    }
    process_incoming(process);
    report.processed += round.incoming;
  }
}

// A run counts as one round: what peers emit after it, while this rank does not yet know that it is
// over, is told apart by its number.
Result<RunReport> CpuPort::run_free(const Process& process) {
  GODWIT_CHECK(check_usable());
  release_incoming();
  Termination termination(rank_, ranks_, *this);
  termination_ = &termination;
  struct Forget {
    Termination*& pointer;
    ~Forget() { pointer = nullptr; }
  } const forget{termination_};
  for (Chunk* const chunk : std::exchange(early_, {})) accept_control(chunk);

  asked_sharers_ = 0;
  RunReport report;
  std::uint64_t folded = 0;
  int batches = 0;  // since the last flush
  const auto anybody = [this](Rank rank) { return rank != rank_; };
  auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (!termination.done()) {
    const bool came = accept_arrivals();
    if (termination.done()) break;  // who knows that may have gone by now
    GODWIT_CHECK(check_peers(anybody));
    folded += fold_ready();
    const std::uint64_t processed = process_ready(process);
    report.processed += processed;
    GODWIT_CHECK(check_usable());
    if (processed == 0 || ++batches == kBatchesBeforeFlush) {
      flush_all();
      batches = 0;
    }
    if (processed > 0 || !stayed_.empty()) {
      asked_sharers_ = 0;
      deadline = std::chrono::steady_clock::now() + options_.patience;
      continue;
    }
    termination.idle(total_emitted() - emitted_before_, report.processed + folded);
    ask_for_work();
    if (came || termination.done()) continue;
    if (std::chrono::steady_clock::now() >= deadline) return give_up(too_late(anybody));
    const PortTrace::Span span(trace_, "idle", 0);
    carrier_->wait(std::min(deadline, look_again()));
    asked_sharers_ = asked_sharers_ >= sharers_.size() ? 0 : asked_sharers_;
  }
  ++current_;
  ++number_;
  const std::lock_guard lock(lock_);
  queued_sent_ = 0;
  std::fill(chunks_sent_.begin(), chunks_sent_.end(), 0);
  emitted_before_ = total_emitted();
  return report;
}

void CpuPort::flush_all() noexcept {
  const std::lock_guard lock(lock_);
  unspill();
  for (Outbox& outbox : outboxes_) flush(outbox);
}

std::uint64_t CpuPort::fold_ready() {
  std::uint64_t folded = 0;
  std::vector<Chunk*> chunks = std::exchange(filling().chunks(), {});
  {
    const std::lock_guard lock(lock_);
    chunks.insert(chunks.end(), stayed_.begin(), stayed_.end());
    stayed_.clear();
  }
  for (Chunk* const chunk : chunks) {
    arrived_ += chunk->count;
    if (types_[chunk->kind].form != detail::ItemForm::reduced) {
      ready_[static_cast<std::size_t>(chunk->priority)].push_back(chunk);
      continue;
    }
    folded += chunk->count;
    fold(*chunk);
    give_back(chunk);
  }
  return folded;
}

std::uint64_t CpuPort::process_ready(const Process& process) {
  // Given back even if the kernel throws.
  struct Batch {
    std::vector<Chunk*> chunks;
    ~Batch() {
      for (Chunk* const chunk : chunks) give_back(chunk);
    }
  } batch;
  std::uint64_t items = 0;
  for (std::size_t priority = kPriorities; priority-- > 0;) {
    std::deque<Chunk*>& queue = ready_[priority];
    for (; !queue.empty() && batch.chunks.size() < kBatch * workers_.size(); queue.pop_front()) {
      batch.chunks.push_back(queue.front());
      items += queue.front()->count;
    }
  }
  if (!batch.chunks.empty()) process_chunks(batch.chunks, process);
  return items;
}

}  // namespace godwit::forward
