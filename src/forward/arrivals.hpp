// What has arrived for a round that is not yet whole, and what is known of it.
#pragma once

#include <cstdint>
#include <vector>

#include "forward/control.hpp"
#include "godwit/detail/forward/chunk.hpp"

namespace godwit::forward {

class Arrivals {
 public:
  explicit Arrivals(Rank ranks) : ended_(static_cast<std::size_t>(ranks)) {}

  void add(detail::Chunk* chunk) { chunks_.push_back(chunk); }
  // A rank's last word on the round.
  void end(Rank source, const Control& control) {
    ended_[static_cast<std::size_t>(source)] = true;
    ++ends_;
    announced_ += control.chunks;
    alive_ += control.emitted + control.held_back;
    held_back_ += control.held_back;
    if (source == 0) is_to_be_saved_ = control.save != 0;
  }
  // All ranks have had their last word, and all they announced is here.
  [[nodiscard]] bool whole() const noexcept {
    return ends_ == ended_.size() && announced_ == chunks_.size();
  }
  [[nodiscard]] bool has_ended(Rank source) const noexcept {
    return ended_[static_cast<std::size_t>(source)];
  }
  [[nodiscard]] std::uint64_t alive() const noexcept { return alive_; }
  [[nodiscard]] std::uint64_t held_back() const noexcept { return held_back_; }
  [[nodiscard]] bool is_to_be_saved() const noexcept { return is_to_be_saved_; }

  [[nodiscard]] std::vector<detail::Chunk*>& chunks() noexcept { return chunks_; }
  // For another round. The chunks must have been moved out.
  void clear() {
    chunks_.clear();
    ended_.assign(ended_.size(), false);
    ends_ = announced_ = alive_ = held_back_ = 0;
    is_to_be_saved_ = false;
  }

 private:
  std::vector<detail::Chunk*> chunks_;
  std::vector<bool> ended_;
  std::uint64_t ends_ = 0;
  std::uint64_t announced_ = 0;  // chunks
  std::uint64_t alive_ = 0;      // items
  std::uint64_t held_back_ = 0;  // items
  bool is_to_be_saved_ = false;
};

}  // namespace godwit::forward
