#include "ref/access/pieces.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {
std::uint64_t Pieces::begin_of(std::uint64_t piece) const noexcept {
  return range_.first + std::min(piece * kBytes, range_.end - range_.first);
}

Duration Pieces::time_left(Time until) const {
  return until == kNever ? patience_ : std::min(patience_, until - source_.now());
}

// While the home is gone one question is enough to find out when it is back.
void Pieces::ask_for_more(Time until) {
  const std::uint64_t end = next_ + (gone_since_ == kNever ? kUnderWay : 1);
  for (std::uint64_t piece = next_; piece < end && begin_of(piece) < range_.end; ++piece) {
    const std::size_t slot = piece % kUnderWay;
    if (std::exchange(asked_[slot], true)) continue;
    asked_until_[slot] = until;
    asked_in_[slot] = finding_;
    source_.ask(slot, {begin_of(piece), begin_of(piece + 1)}, time_left(until));
  }
}

Result<Pieces::Progress> Pieces::advance(Duration at_most, Time until) {
  if (is_complete()) return Progress::complete;
  if (time_left(until) <= Duration(0)) {
    const Error late{ErrorCode::deadline, "there was no time left"};
    return tl::unexpected(in_context(gone_since_ == kNever ? late : gone_why_));
  }
  if (const Duration rest = not_before_ - source_.now(); rest > Duration(0)) {
    if (at_most > Duration(0)) source_.pause(std::min({rest, at_most, time_left(until)}));
    return Progress::none;
  }
  ask_for_more(until);
  const std::size_t slot = next_ % kUnderWay;
  if (!source_.wait(slot, std::min(at_most, time_left(until)))) return Progress::none;
  const auto piece = source_.answer(slot);
  if (piece) return taken(*piece);
  asked_[slot] = false;
  GODWIT_CHECK(recover(piece.error(), until));
  return Progress::none;
}

Status Pieces::finish(Time until) {
  for (;;) {
    GODWIT_TRY(const Progress progress, advance(patience_, until));
    if (progress == Progress::complete) return {};
  }
}

Result<Pieces::Progress> Pieces::taken(const ArrivedPiece& piece) {
  const std::uint64_t size = begin_of(next_ + 1) - begin_of(next_);
  if (piece.bytes.size() != size) {
    return fail(ErrorCode::protocol_violation, "the home sent {} of {} bytes", piece.bytes.size(),
                size);
  }
  asked_[next_ % kUnderWay] = false;
  gone_since_ = kNever;
  pause_ = Duration(0);
  found_again_ = false;
  GODWIT_TRY(const bool whole, take_(begin_of(next_), piece));
  if (!whole) {
    if (++damaged_ <= kMaxDamaged) return Progress::none;
    return fail(ErrorCode::bad_format,
                "bytes {} to {} were damaged on the way, {} times in a row: their checksum is not "
                "the one that the home sent; look at the memory and the network of both hosts",
                begin_of(next_), begin_of(next_ + 1), damaged_);
  }
  damaged_ = 0;
  ++next_;
  return is_complete() ? Progress::complete : Progress::some;
}

Status Pieces::recover(const Error& why, Time until) {
  forget_failed();
  // Found again since that was asked: the home would count the reader twice.
  if (why.code == ErrorCode::not_found && asked_in_[next_ % kUnderWay] != finding_) return {};
  if (why.code == ErrorCode::not_found && !std::exchange(found_again_, true)) {
    const Status found = source_.find_again(time_left(until));
    if (found) {
      ++finding_;
      return {};
    }
    if (!is_home_gone(found.error().code)) return tl::unexpected(in_context(found.error()));
    found_again_ = false;
    return wait_for_home(found.error(), until);
  }
  // A question of somebody's who had less time.
  if (why.code == ErrorCode::deadline && asked_until_[next_ % kUnderWay] < until) return {};
  const bool is_one_piece = range_.end - range_.first <= kBytes;
  if (is_home_gone(why.code) && !is_one_piece) return wait_for_home(why, until);
  return tl::unexpected(in_context(why));
}

// Those that have come stay where they are.
void Pieces::forget_failed() {
  for (std::uint64_t piece = next_ + 1; piece < next_ + kUnderWay; ++piece) {
    const std::size_t slot = piece % kUnderWay;
    if (asked_[slot] && source_.wait(slot, Duration(0)) && !source_.answer(slot)) {
      asked_[slot] = false;
    }
  }
}

Status Pieces::wait_for_home(const Error& why, Time until) {
  const Time now = source_.now();
  if (gone_since_ == kNever) gone_since_ = now;
  gone_why_ = why;
  const Duration absence = std::min(patience_, kLongestAbsence);
  const Duration left = std::min(absence - (now - gone_since_), time_left(until));
  if (left <= Duration(0)) return tl::unexpected(in_context(why));
  not_before_ = now + std::min(pause_, left);
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  return {};
}

Error Pieces::in_context(const Error& why) const {
  return {why.code, fmt::format("{} of {} bytes had come, then: {}", taken_bytes(),
                                range_.end - range_.first, why.message)};
}

}  // namespace godwit::ref
