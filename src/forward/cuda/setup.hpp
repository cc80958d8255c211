// How the ranks of an exchange on a GPU find each other.
#pragma once

#include <memory>
#include <span>

#include "forward/cuda/mail.hpp"
#include "forward/cuda/team.hpp"
#include "godwit/cuda/options.hpp"
#include "godwit/group.hpp"

namespace godwit::cuda {

// The messages of set_up(), for opening what carries them.
[[nodiscard]] std::span<const ItemType> mail_types() noexcept;

// Every rank says hello to rank 0, whose process takes the memory and invites the others; the first
// rank of each process joins for it. All ranks of a process get the same team.
[[nodiscard]] Result<std::shared_ptr<Team>> set_up(Mail& mail, const Group& group,
                                                   std::span<const ItemType> types,
                                                   const Options& options);

}  // namespace godwit::cuda
