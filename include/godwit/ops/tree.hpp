// B+-trees in regions, made from sorted entries and searched where they lie.
//
//   auto tree = godwit::Region<godwit::ops::TreeNode>::create(
//       fleet, "tree", {.elements = godwit::ops::tree_nodes(entries.size())}).value();
//   godwit::ops::build_tree(tree, entries);
//   auto found = godwit::ops::find(tree, 42).get();          // Outcome<optional<Found>>
//   for (godwit::ops::ScanCursor cursor{.from = 10, .to = 99}; !cursor.over;) {
//     auto page = godwit::ops::scan(tree, cursor).get();     // Outcome<ScanResult>
//     cursor = page->next;
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/future.hpp"
#include "godwit/ops/layout.hpp"
#include "godwit/ops/list.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// Elements that a tree of so many entries takes.
[[nodiscard]] GODWIT_API std::uint64_t tree_nodes(std::uint64_t entries);

// Makes the region a tree of these entries, whose keys ascend strictly. Waits. Nobody searches it
// meanwhile. Failures: as those of Region::store(); invalid_argument also for keys out of order.
[[nodiscard]] GODWIT_API Outcome<void> build_tree(const Region<TreeNode>& tree,
                                                  std::span<const TreeEntry> entries);

// The entry of that key and the leaf it is in, or none. One call, which goes from the root down.
// Failures: as those of Region; invalid_argument also if the region does not hold a tree. `direct`
// and `get` are over when this returns.
[[nodiscard]] GODWIT_API Future<std::optional<Found>> find(
    const Region<TreeNode>& tree, std::uint64_t key, Mechanism mechanism = Mechanism::automatic);
// The same for many, which share messages as those of chase_many() do. Waits. The i-th outcome is
// that of keys[i].
[[nodiscard]] GODWIT_API std::vector<Outcome<std::optional<Found>>> find_many(
    const Region<TreeNode>& tree, std::span<const std::uint64_t> keys);

// A scan of the keys from `from` to `to`, both included, so far.
struct ScanCursor {
  std::uint64_t from = 0;
  std::uint64_t to = UINT64_MAX;
  std::uint64_t at = 0;  // the node of the tree to go on from; 0: from the root
  bool over = false;
};

struct ScanResult {
  std::vector<TreeEntry> entries;  // in order; none twice
  ScanCursor next;
};

inline constexpr std::uint32_t kMaxPageEntries = 4096;

// The next page: at most `limit` entries (1 to kMaxPageEntries), fewer also where the next leaf
// lies on another node; none only if the scan is over. A page that failed may be asked for again.
[[nodiscard]] GODWIT_API Future<ScanResult> scan(const Region<TreeNode>& tree,
                                                 const ScanCursor& cursor,
                                                 std::uint32_t limit = 256);

}  // namespace godwit::ops
