// Thousands of traversals at a time: those that go to the same node share a message.
//
//   std::vector<godwit::ops::Chase> chases = ...;
//   auto ends = godwit::ops::chase_many(list, chases);       // vector<Outcome<uint64_t>>
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/ops.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

struct Chase {
  std::uint64_t at = 0;
  std::uint64_t steps = 0;
};

// Follows each as chase() does; the i-th outcome is that of chases[i]. Waits in the calling thread;
// any number of threads may do so at once.
//
// Order and fairness: traversals that wait for the same node are sent in the order in which they
// came to need it, at most 256 in a message, with two messages to each node under way; so none is
// overtaken by more than those that stood before it and one message's worth. At the node one step
// of each is made in turn, 4,096 in all before others have their turn. They end in any order.
//
// Each fails alone: a shard that is lost ends those that come to it, and the others go on.
// `direct` is as for chase(); `get` is unsupported.
[[nodiscard]] GODWIT_API std::vector<Outcome<std::uint64_t>> chase_many(
    const Region<std::uint64_t>& list, std::span<const Chase> chases,
    Mechanism mechanism = Mechanism::automatic);

}  // namespace godwit::ops
