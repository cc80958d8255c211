// Many chases at a time, as far as this node has their elements; whoever asked sends them on.
#include "chased.hpp"
#include "traversal.hpp"

namespace godwit::ops {

std::vector<Chased> chase_many(Here& here, std::uint64_t region, std::span<const Chased> chases) {
  const auto list = here.region<std::uint64_t>(region);
  return walk_all(chases, [&](Chased& chase) {
    if (chase.steps == 0 || !list.owns(chase.at)) return false;
    chase.at = list[chase.at];
    --chase.steps;
    return true;
  });
}
GODWIT_EXPORT(chase_many, inline_);

}  // namespace godwit::ops
