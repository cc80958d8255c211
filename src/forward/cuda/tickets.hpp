// How ranks of one process hand each other their team: messages carry a ticket, never an address.
#pragma once

#include <cstdint>
#include <memory>

#include "godwit/error.hpp"

namespace godwit::cuda {

class Team;

// A ticket for one taker, in this process. The team stays its owners'. Any thread.
[[nodiscard]] std::uint64_t leave_team(const std::shared_ptr<Team>& team);
// not_found: nobody in this process left a team for it, or the team is gone.
[[nodiscard]] Result<std::shared_ptr<Team>> take_team(std::uint64_t ticket);

}  // namespace godwit::cuda
