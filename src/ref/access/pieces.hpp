// A large object on its way here, piece by piece. Several are asked for at a time, each is checked
// against what its home says of it, and none that has come is asked for again: a damaged one is,
// and those that were under way when the home could not be reached any more, once it can be.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/bytes.hpp"
#include "base/scheduler.hpp"
#include "godwit/error.hpp"

namespace godwit::ref {

// A part of an object; UINT64_MAX: up to its end.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t end = UINT64_MAX;
};

// Of an error of a question to it: nobody answers there, or the way broke.
[[nodiscard]] constexpr bool is_home_gone(ErrorCode code) noexcept {
  return says_gone(code) || code == ErrorCode::link_lost;
}

struct ArrivedPiece {
  Bytes bytes;
  std::uint64_t checksum = 0;  // of what the home sent
};

// Where pieces come from. The thread's that drives the pieces.
class PieceSource : public Clock {
 public:
  // Asks for those bytes. The slot, below Pieces::kUnderWay, names the question, and forgets the
  // one before.
  virtual void ask(std::size_t slot, const ByteRange& bytes, Duration at_most) = 0;
  // False: it is not answered yet.
  virtual bool wait(std::size_t slot, Duration at_most) = 0;
  // Of a question that has been answered; lies there until the slot is used again. Errors:
  // not_found (the home does not know any more that this process reads the object), node_lost and
  // its like, deadline; others are final.
  [[nodiscard]] virtual Result<ArrivedPiece> answer(std::size_t slot) = 0;
  // The memory that answer() spoke of, to keep: the slot has it no more. Empty: it is to be copied.
  [[nodiscard]] virtual Buffer keep(std::size_t /*slot*/) { return {}; }
  // Tells the home that this process reads that version. Errors: as before; not_found and stale are
  // final: it has the version no more.
  [[nodiscard]] virtual Status find_again(Duration at_most) = 0;
  virtual void pause(Duration time) = 0;
};

// One thread at a time.
class Pieces {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  static constexpr std::size_t kUnderWay = 4;
  // In a row, of one piece; the next one is an error.
  static constexpr unsigned kMaxDamaged = 3;
  // Between questions to a home that is gone: the first, and the longest.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(5);
  static constexpr Duration kLongestPause = std::chrono::milliseconds(250);
  // A home that cannot be reached for so long is lost: restarts and links take less.
  static constexpr Duration kLongestAbsence = std::chrono::seconds(10);
  static constexpr Time kNever{INT64_MAX};

  // Given each piece once, from front to back, unless it says false: it is damaged, and comes
  // again. An error ends it all.
  using Take = std::function<Result<bool>(std::uint64_t offset, const ArrivedPiece& piece)>;

  // Without anything new for `patience` it fails. The source outlives it.
  Pieces(PieceSource& source, const ByteRange& range, Duration patience, Take take)
      : source_(source), range_(range), patience_(patience), take_(std::move(take)) {}

  enum class Progress : std::uint8_t { none, some, complete };
  // Asks for as many pieces as may be under way, waits at most so long for the next one, and takes
  // it. `until` is when the caller wants to have all. What is of one piece only is not waited for
  // beyond a link that breaks. Errors: deadline (another caller may go on), those of `take` and of
  // the source, bad_format (damaged too often).
  [[nodiscard]] Result<Progress> advance(Duration at_most, Time until);
  // Until it is complete.
  [[nodiscard]] Status finish(Time until);

  [[nodiscard]] std::uint64_t taken_bytes() const noexcept {
    return begin_of(next_) - range_.first;
  }

 private:
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t piece) const noexcept;
  [[nodiscard]] bool is_complete() const noexcept { return begin_of(next_) == range_.end; }
  // For a question, or for all that is left to do.
  [[nodiscard]] Duration time_left(Time until) const;
  void ask_for_more(Time until);
  void forget_failed();
  [[nodiscard]] Result<Progress> taken(const ArrivedPiece& piece);
  // What became of the piece that comes next is no answer. Errors: it is final.
  [[nodiscard]] Status recover(const Error& why, Time until);
  [[nodiscard]] Status wait_for_home(const Error& why, Time until);
  [[nodiscard]] Error in_context(const Error& why) const;

  PieceSource& source_;
  const ByteRange range_;
  const Duration patience_;
  const Take take_;
  std::uint64_t next_ = 0;  // the first piece that has not been taken
  std::array<bool, kUnderWay> asked_{};
  std::array<Time, kUnderWay> asked_until_{};
  std::array<unsigned, kUnderWay> asked_in_{};  // which finding_ of the reader's
  unsigned damaged_ = 0;
  unsigned finding_ = 0;      // how often it was found again
  bool found_again_ = false;  // since the last piece came
  Time gone_since_ = kNever;
  Error gone_why_;
  Duration pause_{0};
  Time not_before_{0};  // the home is not asked
};

}  // namespace godwit::ref
