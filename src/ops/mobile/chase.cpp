// Follows a list of indices from node to node: element i holds the index of the next.
#include "chased.hpp"
#include "shard.hpp"

namespace godwit::ops {

// On the polling thread, where others wait: after kStepsPerStay elements of one node, and when the
// call has no hop left, it answers with where it is, and whoever asked goes on from there.
Next<Chased> chase(Here& here, std::uint64_t region, std::uint64_t at, std::uint64_t steps) {
  const auto list = here.region<std::uint64_t>(region);
  for (std::uint32_t taken = 0; steps > 0 && list.owns(at); ++taken) {
    if (taken == kStepsPerStay) return Chased{at, steps};
    at = list[at];
    --steps;
  }
  if (steps == 0 || here.hops_left() == 0) return Chased{at, steps};
  const Node owner = list.owner(at);
  if (!owner) {
    if (at < list.size()) refuse(kNodeLost, "the shard of element %llu is lost", as_printed(at));
    refuse(kInvalidArgument, "the list leads to %llu, beyond the %llu elements there are",
           as_printed(at), as_printed(list.size()));
  }
  return here.continue_at<chase>(owner, region, at, steps);
}
GODWIT_EXPORT(chase, inline_);

}  // namespace godwit::ops
