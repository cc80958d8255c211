// Memory that a program writes into itself, and that becomes an object, or a batch of a stream,
// where it lies.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "ref/access/access.hpp"

namespace godwit::ref {

// A reservation at a home whose memory this process can write to; or else memory of its own, which
// is sent when it is done. Move-only; one thread at a time. Given up, or its process dead, its
// memory goes back. While it lives its process tells the home that it does: else the home would
// give the memory to others.
class Draft {
 public:
  // By ObjectAccess::begin_draft().
  Draft(ObjectAccess& access, NodeId home, Buffer memory) noexcept
      : access_(&access), home_(home), own_(std::move(memory)), bytes_(own_.mutable_view()) {}
  // The room is the draft's from here on.
  Draft(ObjectAccess& access, NodeId home, std::uint64_t ticket, SegmentMap::Mapped segment,
        MutableBytes bytes)
      : access_(&access),
        home_(home),
        ticket_(ticket),
        segment_(std::move(segment)),
        bytes_(bytes) {
    access_->hold(home_);
  }
  Draft(Draft&& other) noexcept
      : access_(other.access_),
        home_(other.home_),
        ticket_(std::exchange(other.ticket_, 0)),
        segment_(std::move(other.segment_)),
        own_(std::move(other.own_)),
        bytes_(std::exchange(other.bytes_, {})) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    if (ticket_ == 0) return;
    access_->abandon_room(home_, ticket_);
    access_->let_go(home_);
  }

  [[nodiscard]] ObjectAccess& access() const noexcept { return *access_; }
  [[nodiscard]] NodeId home() const noexcept { return home_; }
  [[nodiscard]] MutableBytes bytes() const noexcept { return bytes_; }
  // Of the reservation; 0: it is memory of this process.
  [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }
  // The home has made something of the reservation.
  void done() noexcept {
    if (std::exchange(ticket_, 0) != 0) access_->let_go(home_);
  }

 private:
  ObjectAccess* access_;
  NodeId home_;
  std::uint64_t ticket_ = 0;
  SegmentMap::Mapped segment_;
  Buffer own_;
  MutableBytes bytes_;
};

}  // namespace godwit::ref
