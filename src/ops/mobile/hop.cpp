// Goes to and fro between two nodes: what a hop costs, measured by whoever asks.
#include "shard.hpp"

namespace godwit::ops {

// Runs at `from`; the hops that were left when it could make no more.
Next<std::uint32_t> hop(Here& here, std::uint64_t from, std::uint64_t to, std::uint32_t hops) {
  if (hops == 0 || here.hops_left() == 0) return hops;
  return here.continue_at<hop>(Node{to}, to, from, hops - 1);
}
GODWIT_EXPORT(hop, inline_);

}  // namespace godwit::ops
