// Tells when a run without rounds is over: no rank has an item left, and none is on its way.
//
// Mattern's four counters (1987): waves collect, from all ranks, how many items each has emitted
// and how many it has processed. If the sum of what was emitted, told by one wave, equals the sum
// of what had been processed, told by the wave before it, nothing was on its way in between, and
// nobody can emit any more. Waves go down a tree from rank 0 and come back up it as sums, so each
// costs two messages a rank and the time of a few hops.
//
// A rank tells its counts only while it is idle; so a wave comes back when everybody has been idle.
#pragma once

#include <cstdint>
#include <optional>

#include "godwit/kernel.hpp"

namespace godwit::forward {

struct TerminationMessage {
  enum class Kind : std::uint8_t { ask, answer, done } kind = Kind::ask;
  std::uint64_t wave = 0;
  std::uint64_t emitted = 0;  // of answers: by the sender and the ranks below it
  std::uint64_t processed = 0;
};

// One rank's part in it. Sends through an interface, keeps no time and no thread: a pure machine.
class Termination {
 public:
  class Way {
   public:
    virtual void send(Rank to, const TerminationMessage& message) = 0;

   protected:
    ~Way() = default;
  };

  Termination(Rank rank, Rank ranks, Way& way) noexcept : rank_(rank), ranks_(ranks), way_(way) {}

  // A message that another rank's Termination sent; they may come in any order.
  void receive(const TerminationMessage& message);
  // This rank has nothing to process and nothing unsent. The counts are of the run so far: what was
  // emitted includes what waits in a file, what was processed includes items for the own rank.
  void idle(std::uint64_t emitted, std::uint64_t processed);
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] std::uint64_t waves() const noexcept { return wave_; }

  // Children of a rank in the tree.
  static constexpr Rank kFanOut = 8;

 private:
  [[nodiscard]] Rank parent() const noexcept { return (rank_ - 1) / kFanOut; }
  template <class Visit>
  void each_child(Visit&& visit) const;
  [[nodiscard]] Rank child_count() const noexcept;
  void begin_wave(std::uint64_t wave);
  void finish();
  void conclude(std::uint64_t emitted, std::uint64_t processed);

  const Rank rank_;
  const Rank ranks_;
  Way& way_;
  std::uint64_t wave_ = 0;     // the last that reached this rank
  bool asked_ = false;         // and this rank has not answered it
  Rank answers_ = 0;           // of children, in this wave
  std::uint64_t emitted_ = 0;  // sums of those answers
  std::uint64_t processed_ = 0;
  std::optional<std::uint64_t> processed_before_;  // told by the wave before; rank 0 alone
  bool done_ = false;
};

}  // namespace godwit::forward
