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
#include "godwit/meet.hpp"

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
  // This process's membership in a group of processes, once all have come. invalid_argument: no
  // such rank, or another process is it, or others expect another number of ranks. deadline: ranks,
  // which it names, have not come. bad_address, unauthorised, unreachable: the place is no good.
  // What the group sends and receives is moved by a thread of its own while its ranks are busy.
  [[nodiscard]] static Result<Group> meet(const MeetOptions& options);
  // The same, as `godwit ranks` starts programs: GODWIT_RANK, GODWIT_RANKS, GODWIT_MEET (the
  // address) and, if set, GODWIT_KEY_FILE. not_found: they are not set.
  [[nodiscard]] static Result<Group> from_environment();

  [[nodiscard]] Rank rank() const noexcept;
  [[nodiscard]] Rank ranks() const noexcept;

  static constexpr Rank kMaxRanks = 4096;

  explicit Group(std::shared_ptr<detail::GroupCore> core) noexcept : core_(std::move(core)) {}
  [[nodiscard]] detail::GroupCore& core() const noexcept { return *core_; }

 private:
  std::shared_ptr<detail::GroupCore> core_;
};

// What the process of a rank ends with: 0; kExitNodeLost if another rank was lost, by which
// `godwit ranks --restarts` sees that all can be started again; 1 if anything else went wrong.
inline constexpr int kExitNodeLost = 15;
[[nodiscard]] inline int exit_code(const Status& ended) noexcept {
  if (ended) return 0;
  return ended.error().code == ErrorCode::node_lost ? kExitNodeLost : 1;
}

// Runs `body` once for each rank, each in a thread of its own, and waits for all. The first error
// by rank, which is an exception's text if `body` threw.
[[nodiscard]] GODWIT_API Status run_ranks(Rank ranks, const std::function<Status(Group&)>& body);

}  // namespace godwit
