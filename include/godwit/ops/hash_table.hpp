// Hash tables in regions: each key is looked for on one node, in one call.
//
//   auto table = godwit::Region<godwit::ops::HashSlot>::create(fleet, "table",
//                                                              {.elements = 1 << 20}).value();
//   godwit::ops::hash_put(table, 7, 42).get();               // Outcome<optional<uint64_t>>: before
//   auto value = godwit::ops::hash_get(table, 7).get();      // Outcome<optional<uint64_t>>: 42
#pragma once

#include <cstdint>
#include <optional>

#include "godwit/export.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/layout.hpp"
#include "godwit/ops/mechanism.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// What the table has under the key. Gets and puts of one key are in one order; an entry is seen
// whole. The region must not grow while it is a table: keys would be looked for elsewhere.
// Failures: as those of Region; overload if an entry is changed all the time. `automatic` is direct
// if the key's shard is mapped, and code otherwise; `get` asks three times for what it looks at,
// to know that it has not changed, and is over when this returns.
[[nodiscard]] GODWIT_API Future<std::optional<std::uint64_t>> hash_get(
    const Region<HashSlot>& table, std::uint64_t key, Mechanism mechanism = Mechanism::automatic);

// Sets the key's value, and returns the one before. resource_exhausted: there is no free slot among
// the 1,024 where the key may lie; nothing has changed then. node_lost: it may have happened.
[[nodiscard]] GODWIT_API Future<std::optional<std::uint64_t>> hash_put(
    const Region<HashSlot>& table, std::uint64_t key, std::uint64_t value);

}  // namespace godwit::ops
