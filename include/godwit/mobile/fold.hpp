// Folding a region along a tree: each node reduces its own shard, and joins to that what the nodes
// below it come to. One exported function does both; godwit's own reductions are made so too.
//
//   // How many elements are larger than `bound`.
//   std::uint64_t count_above(godwit::Here& here, godwit::ops::TreePart part, double bound) {
//     return godwit::ops::fold<count_above, double>(
//         here, part,
//         [&](const auto& region) {
//           std::uint64_t count = 0;
//           godwit::ops::each(region, [&](std::uint64_t, double x) { count += x > bound; });
//           return count;
//         },
//         [](std::uint64_t& total, std::uint64_t below) { total += below; }, bound);
//   }
//   GODWIT_EXPORT(count_above);
//
// A program calls it with godwit::ops::fold (godwit/ops/reduce.hpp), mobile code of the same bundle
// with fold_all<count_above>(here, region, 0.5).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "godwit/mobile/here.hpp"
#include "godwit/mobile/refuse.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// visit(offset, value) for every element of this node's shard, in the order of offsets;
// region.index_of(offset) is its index. Elements of 1, 2, 4 or 8 bytes are whole, whoever writes.
template <class T, class Visit>
void each(const RegionView<T>& region, Visit&& visit) {
  const std::span<const T> local = region.local();
  // A hashed shard has room for all of the capacity, between elements that there are.
  const bool has_gaps =
      region.map().abi().kind == GODWIT_SHARD_HASHED && region.size() < region.map().capacity();
  for (std::uint64_t offset = 0; offset < local.size(); ++offset) {
    if (has_gaps && region.index_of(offset) >= region.size()) continue;
    visit(offset, detail::load_element(&local[offset]));
  }
}

// What went wrong below, told as that shard's; the innermost shard is the one to name.
[[noreturn, gnu::cold, gnu::noinline]] inline void pass_on(std::uint32_t shard,
                                                           const CallFailed& failed) {
  if (std::strncmp(failed.what(), "shard ", 6) == 0) throw failed;
  refuse(failed.reason(), "shard %u: %s", shard, failed.what());
}

// The tree of fold() alone: `local()` is the R of this node's shard, whatever its type.
template <auto Function, class Local, class Join, class... Args>
typename SignatureOf<decltype(Function)>::Result fold_tree(Here& here, const TreePart& part,
                                                           Local&& local, Join&& join,
                                                           const Args&... args) {
  using R = typename SignatureOf<decltype(Function)>::Result;
  godwit_region_v1 region{};
  region.size = sizeof region;
  const std::int32_t error =
      here.table()->region(here.table(), part.region, nullptr, 0, GODWIT_REGION_READ, &region);
  if (error != 0) {
    refuse(static_cast<std::uint32_t>(error), "%s", here.table()->last_error(here.table()));
  }
  if (region.shard != part.shard) {
    refuse(kInvalidArgument, "this node does not have shard %u", part.shard);
  }
  if (part.fan_out == 0 || part.fan_out > kMaxTreeFanOut) {
    refuse(kInvalidArgument, "a tree has a fan-out of 1 to %u, not %u", kMaxTreeFanOut,
           part.fan_out);
  }
  std::array<Pending<R>, kMaxTreeFanOut> below;
  std::uint32_t children = 0;
  const auto child = [&](std::uint32_t i) {
    return static_cast<std::uint32_t>(part.first_child() + i);
  };
  while (children < part.fan_out && part.first_child() + children < region.map.shards) {
    const std::uint32_t shard = child(children);
    const Node home{region.nodes[shard]};
    if (!home) refuse(kNodeLost, "shard %u was lost with its node", shard);
    below[children++] =
        here.call<Function>(home, TreePart{part.region, shard, part.fan_out}, args...);
  }
  R result = local();
  for (std::uint32_t i = 0; i < children; ++i) {
    try {
      join(result, below[i].get());
    } catch (const CallFailed& failed) {
      pass_on(child(i), failed);
    }
  }
  return result;
}

// Function is the exported function this runs in: it takes Here&, a TreePart and `args`, and
// returns an R. `local(RegionView<T>)` is the R of this node's shard, `join(R&, R)` adds that of a
// part below; parts are joined in the order of their shards. [blocks] unless the part is one shard.
//
// Throws CallFailed: what `local` throws, and what ended a call below, naming its shard. The whole
// fold then fails; a shard that is lost is node_lost.
template <auto Function, class T, class Local, class Join, class... Args>
typename SignatureOf<decltype(Function)>::Result fold(Here& here, const TreePart& part,
                                                      Local&& local, Join&& join,
                                                      const Args&... args) {
  const RegionView<T> region = here.region<T>(part.region);
  return fold_tree<Function>(
      here, part, [&] { return local(region); }, std::forward<Join>(join), args...);
}

// The fold of the whole region, from mobile code at any node. [blocks]
template <auto Function, class T, class... Args>
typename SignatureOf<decltype(Function)>::Result fold_all(Here& here, const RegionView<T>& region,
                                                          const Args&... args) {
  const TreePart whole{region.id(), 0, kTreeFanOut};
  if (region.shard() == 0) return Function(here, whole, args...);
  return here.call<Function>(region.home(0), whole, args...).get();
}

}  // namespace godwit::ops
