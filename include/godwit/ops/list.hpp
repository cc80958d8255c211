// Lists that lead from node to node, searched where they lie.
//
//   auto list = godwit::Region<godwit::ops::ListNode>::attach(fleet, "list").value();
//   auto found = godwit::ops::find(list, {.first = 0, .key = 42}).get();   //
//   Outcome<optional<Found>>
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/layout.hpp"
#include "godwit/ops/mechanism.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

struct ListQuery {
  std::uint64_t first = 0;  // where the list begins
  std::uint64_t key = 0;
};

// The first node of the list that has the key, or none. One call, which goes from node to node.
// Whoever adds a node writes it before pointing to it: a node that changes while it is looked at
// may be seen half changed. Failures: as those of Region; invalid_argument also if the list leads
// out of the region or round in a circle. `direct` and `get` are over when this returns.
[[nodiscard]] GODWIT_API Future<std::optional<Found>> find(
    const Region<ListNode>& list, const ListQuery& query,
    Mechanism mechanism = Mechanism::automatic);

// The same for many, which share messages as those of chase_many() do (godwit/ops/many.hpp). Waits.
// The i-th outcome is that of queries[i].
[[nodiscard]] GODWIT_API std::vector<Outcome<std::optional<Found>>> find_many(
    const Region<ListNode>& list, std::span<const ListQuery> queries);

}  // namespace godwit::ops
