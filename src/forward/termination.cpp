#include "forward/termination.hpp"

#include <algorithm>

namespace godwit::forward {

template <class Visit>
void Termination::each_child(Visit&& visit) const {
  const Rank first = rank_ * kFanOut + 1;
  for (Rank child = first; child < std::min(first + kFanOut, ranks_); ++child) visit(child);
}

Rank Termination::child_count() const noexcept {
  return std::clamp(ranks_ - (rank_ * kFanOut + 1), 0, kFanOut);
}

void Termination::begin_wave(std::uint64_t wave) {
  wave_ = wave;
  asked_ = true;
  answers_ = 0;
  emitted_ = 0;
  processed_ = 0;
  each_child(
      [&](Rank child) { way_.send(child, {.kind = TerminationMessage::Kind::ask, .wave = wave}); });
}

void Termination::receive(const TerminationMessage& message) {
  switch (message.kind) {
    case TerminationMessage::Kind::ask: begin_wave(message.wave); return;
    case TerminationMessage::Kind::answer:
      ++answers_;
      emitted_ += message.emitted;
      processed_ += message.processed;
      return;
    case TerminationMessage::Kind::done: finish(); return;
  }
}

void Termination::idle(std::uint64_t emitted, std::uint64_t processed) {
  if (done_) return;
  if (ranks_ == 1) {
    done_ = emitted == processed;
    return;
  }
  if (rank_ == 0 && wave_ == 0) begin_wave(1);
  if (!asked_ || answers_ < child_count()) return;
  asked_ = false;
  emitted += emitted_;
  processed += processed_;
  if (rank_ == 0) {
    conclude(emitted, processed);
  } else {
    way_.send(parent(), {.kind = TerminationMessage::Kind::answer,
                         .wave = wave_,
                         .emitted = emitted,
                         .processed = processed});
  }
}

void Termination::conclude(std::uint64_t emitted, std::uint64_t processed) {
  if (processed_before_ == emitted) {
    finish();
    return;
  }
  // The next one at once: who still has something to do answers it when that is done.
  processed_before_ = processed;
  begin_wave(wave_ + 1);
}

void Termination::finish() {
  done_ = true;
  each_child([&](Rank child) {
    way_.send(child, {.kind = TerminationMessage::Kind::done, .wave = wave_});
  });
}

}  // namespace godwit::forward
