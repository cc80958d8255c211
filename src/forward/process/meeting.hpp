// How the processes of a group find each other: rank 0 waits at the meeting place, the others go
// there, say where they can be reached, and get the list of all.
#pragma once

#include <memory>
#include <vector>

#include "base/task.hpp"
#include "fabric/address.hpp"
#include "fabric/reactor.hpp"
#include "forward/process/member_card.hpp"
#include "godwit/error.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::forward {

// Every member is called by the reactor's owner.
class Meeting {
 public:
  struct Options {
    fabric::Address place;
    MemberCard self;
    const trust::FleetKey* key = nullptr;  // outlives the meeting
  };
  // Called once, from the reactor; all members' cards by rank. Errors: invalid_argument (somebody
  // is that rank already, or expects another number of ranks), or what kept this process from the
  // place.
  using Done = UniqueFunction<void(Result<std::vector<MemberCard>>)>;

  // Rank 0 waits, others go.
  [[nodiscard]] static Result<std::unique_ptr<Meeting>> begin(fabric::Reactor& reactor,
                                                              Options options, Done done);
  virtual ~Meeting() = default;

  // Who has not come, as far as this process knows; why, if it knows.
  [[nodiscard]] virtual std::vector<Rank> missing() const = 0;
  [[nodiscard]] virtual std::string obstacle() const { return {}; }
  // Tells those who wait here that it is over, and why.
  virtual void call_off(const Error& why) = 0;
};

}  // namespace godwit::forward
