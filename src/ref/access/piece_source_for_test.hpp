// A home that tests play: it answers, or does not, as they say.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/fail.hpp"
#include "ref/access/pieces.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::ref {

// No two pieces are the same: they begin elsewhere in what comes again and again.
inline std::vector<std::byte> some_bytes(std::size_t size) {
  constexpr std::size_t kPeriod = 4'093;
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < std::min(size, kPeriod); ++i) {
    bytes[i] = static_cast<std::byte>((i * 2'654'435'761U) >> 24U);
  }
  for (std::size_t done = kPeriod; done < size;) {
    const std::size_t more = std::min(done, size - done);
    std::memcpy(bytes.data() + done, bytes.data(), more);
    done += more;
  }
  return bytes;
}

// Its clock moves only while it is waited for.
class PlayedHome : public PieceSource {
 public:
  explicit PlayedHome(std::vector<std::byte> all) : bytes(std::move(all)) {}

  void ask(std::size_t slot, const ByteRange& wanted, Duration at_most) override {
    ++asked[wanted.first];
    questions_.at(slot) = {wanted, now() + at_most, error_now(), false};
  }
  bool wait(std::size_t slot, Duration at_most) override {
    Question& question = questions_.at(slot);
    const bool is_looked_at = at_most == Duration(0);
    if (is_looked_at && is_late && is_late(question.range.first / Pieces::kBytes)) return false;
    if (question.answered || question.error) return true;
    if (!is_up) question.error = Error{ErrorCode::node_lost, "the link broke"};
    if (question.error || answers_now()) return true;
    time = std::min(time + at_most, question.until);
    if (time == question.until) question.error = Error{ErrorCode::deadline, "too late"};
    return question.error.has_value();
  }
  Result<ArrivedPiece> answer(std::size_t slot) override {
    Question& question = questions_.at(slot);
    if (question.error) return tl::unexpected(*question.error);
    const auto [first, end] = question.range;
    const Bytes sent = Bytes(bytes).subspan(first, end - first);
    if (!std::exchange(question.answered, true)) {
      ++sent_[first];
      if (on_answer) on_answer(first / Pieces::kBytes);
    }
    if (!damage || !damage(first / Pieces::kBytes, sent_[first])) {
      return ArrivedPiece{sent, Checksum::of(sent)};
    }
    damaged_.assign(sent.begin(), sent.end());
    damaged_[damaged_.size() / 2] ^= std::byte{16};
    return ArrivedPiece{damaged_, Checksum::of(sent)};
  }
  Status find_again(Duration) override {
    ++found_again;
    if (!is_up) return fail(ErrorCode::node_lost, "nobody answers");
    if (!has_version) return fail(ErrorCode::not_found, "the object is not there any more");
    knows_reader = true;
    return {};
  }
  void pause(Duration time_at_most) override {
    ++pauses;
    time = time + time_at_most;
    if (on_pause) on_pause();
  }
  [[nodiscard]] Time now() const override { return time; }

  // How often the piece was sent.
  [[nodiscard]] unsigned sent(std::uint64_t piece) const {
    const auto place = sent_.find(piece * Pieces::kBytes);
    return place == sent_.end() ? 0 : place->second;
  }

  const std::vector<std::byte> bytes;
  Time time{1};
  bool is_up = true;
  bool is_silent = false;
  bool knows_reader = true;
  bool has_version = true;
  std::function<bool(std::uint64_t piece, unsigned time)> damage;
  std::function<void(std::uint64_t piece)> on_answer;
  std::function<bool(std::uint64_t piece)> is_late;  // its answer comes once it is waited for
  std::function<void()> on_pause;
  std::map<std::uint64_t, unsigned> asked;  // by where they begin
  unsigned found_again = 0;
  unsigned pauses = 0;

 protected:
  virtual bool answers_now() { return !is_silent; }

 private:
  struct Question {
    ByteRange range;
    Time until{};
    std::optional<Error> error;
    bool answered = false;
  };
  [[nodiscard]] std::optional<Error> error_now() const {
    if (!is_up) return Error{ErrorCode::unreachable, "nobody answers"};
    if (!knows_reader) return Error{ErrorCode::not_found, "that pin is none"};
    return std::nullopt;
  }

  std::array<Question, Pieces::kUnderWay> questions_{};
  std::map<std::uint64_t, unsigned> sent_;
  std::vector<std::byte> damaged_;
};

}  // namespace godwit::ref
