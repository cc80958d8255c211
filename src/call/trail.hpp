// Where travelling calls went from here, so that a cancel can follow them.
#pragma once

#include <array>
#include <cstddef>

#include "base/ids.hpp"
#include "wire/call.hpp"

namespace godwit::call {

// Remembers the latest departures; leaving one is O(1), following one O(kLength).
class Trail {
 public:
  static constexpr std::size_t kLength = 1024;

  void leave(wire::IntakeId call, NodeId next) noexcept {
    crumbs_[next_] = {call, next};
    next_ = (next_ + 1) % kLength;
  }
  // Where the call went when it left here last; no node if that is forgotten.
  [[nodiscard]] NodeId follow(wire::IntakeId call) const noexcept {
    for (std::size_t i = 1; i <= kLength; ++i) {
      const Crumb& crumb = crumbs_[(next_ + kLength - i) % kLength];
      if (crumb.call == call) return crumb.next;
    }
    return {};
  }

 private:
  struct Crumb {
    wire::IntakeId call;
    NodeId next;
  };
  std::array<Crumb, kLength> crumbs_{};
  std::size_t next_ = 0;
};

}  // namespace godwit::call
