// Ranks that hold the same data share their work in a run without rounds: who has nothing to do
// asks the others, one after another.
//
// Items that change hands were emitted, and are not yet processed: for the termination they are on
// their way all the time. Questions and answers are not counted.
#include <chrono>

#include "forward/cpu_port.hpp"

namespace godwit::forward {
namespace {

// After all have been asked in vain.
constexpr std::chrono::milliseconds kRest{1};

}  // namespace

void CpuPort::ask_for_work() {
  if (sharers_.empty() || work_asked_ || asked_sharers_ >= sharers_.size()) return;
  // Each begins with another, so that not all ask the same.
  const std::size_t next = (asked_sharers_ + static_cast<std::size_t>(rank_)) % sharers_.size();
  work_asked_ = true;
  tell(sharers_[next], {.kind = ControlKind::work_wanted});
}

// Half of what waits, the least urgent and newest first; one chunk is too little to share.
// Nothing to somebody who is in another run than this rank; but everybody gets an answer.
void CpuPort::give_work(Rank to, std::uint64_t round) {
  std::size_t waiting = 0;
  for (const auto& queue : ready_) waiting += queue.size();
  if (termination_ == nullptr || round != current_ + 1) waiting = 0;
  Control answer{.kind = ControlKind::work_given};
  for (auto& queue : ready_) {
    for (; answer.chunks < waiting / 2 && !queue.empty(); queue.pop_back()) {
      Chunk* const chunk = queue.back();
      ++answer.chunks;
      answer.emitted += chunk->count;
      arrived_ -= chunk->count;
      chunk->destination = to;
      carrier_->send(chunk);
    }
  }
  tell(to, answer);
}

// When an idle rank asks once more, although nothing has come.
Deadline CpuPort::look_again() const noexcept {
  return sharers_.empty() ? Deadline::max() : std::chrono::steady_clock::now() + kRest;
}

}  // namespace godwit::forward
