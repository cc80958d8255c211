// How the ranks of an exchange on GPUs find each other.
#pragma once

#include <memory>
#include <span>

#include "forward/cuda/team.hpp"
#include "forward/outpost.hpp"
#include "godwit/cuda/options.hpp"
#include "godwit/group.hpp"

namespace godwit::cuda {

// Every rank on a GPU says hello to all others of its kind; those that share a GPU are a team. The
// process of its first rank takes the memory and invites the others; the first rank of each process
// joins for it. All ranks of a process and a team get the same object.
[[nodiscard]] Result<std::shared_ptr<Team>> set_up(forward::Outpost& outpost, const Group& group,
                                                   std::span<const ItemType> types,
                                                   const Options& options);

}  // namespace godwit::cuda
