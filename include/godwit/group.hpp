// Ranks that work together: threads of a process, or processes on one or many hosts.
//
//   godwit::Status done = godwit::run_ranks(4, [](godwit::Group& group) -> godwit::Status {
//     auto exchange = godwit::Exchange<Particle>::create(group);
//     ...
//   });
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/kernel.hpp"

namespace godwit {

namespace detail {
class GroupCore;
}

// One member's view of its group. Cheap to copy; used by the thread that is this rank, which alone
// makes exchanges of it. All members make the same exchanges in the same order.
class GODWIT_API Group {
 public:
  // The members of a group of `ranks` threads of this process; each is for one thread.
  // invalid_argument: not 1 to kMaxRanks.
  [[nodiscard]] static Result<std::vector<Group>> threads(Rank ranks);

  [[nodiscard]] Rank rank() const noexcept;
  [[nodiscard]] Rank ranks() const noexcept;

  static constexpr Rank kMaxRanks = 4096;

  explicit Group(std::shared_ptr<detail::GroupCore> core) noexcept : core_(std::move(core)) {}
  [[nodiscard]] detail::GroupCore& core() const noexcept { return *core_; }

 private:
  std::shared_ptr<detail::GroupCore> core_;
};

// Runs `body` once for each rank, each in a thread of its own, and waits for all. The first error
// by rank, which is an exception's text if `body` threw.
[[nodiscard]] GODWIT_API Status run_ranks(Rank ranks, const std::function<Status(Group&)>& body);

}  // namespace godwit
