// How godwit's own traversals expect lists, trees, tables and graphs to lie in regions. Light
// enough for mobile code; programs include the headers beside it, which build and search them.
//
// An index is that of an element of the region, whichever node has it.
#pragma once

#include <array>
#include <cstdint>

#include "godwit/struct.hpp"

namespace godwit::ops {

// The index of nothing: what the last node of a list points at.
inline constexpr std::uint64_t kNowhere = UINT64_MAX;

// An element of a Region<ListNode>.
struct ListNode {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  std::uint64_t next = kNowhere;
  friend bool operator==(const ListNode&, const ListNode&) = default;
};
GODWIT_STRUCT(ListNode, key, value, next);

// An element of a Region<HashSlot>: open addressing, the probes of a key all on one shard. Zeroed
// memory is an empty table.
struct HashSlot {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  std::uint64_t version = 0;  // 0: empty; odd: somebody is writing; grows with each change
  friend bool operator==(const HashSlot&, const HashSlot&) = default;
};
GODWIT_STRUCT(HashSlot, key, value, version);

// Spreads keys, also consecutive ones, over the slots.
[[nodiscard]] constexpr std::uint64_t hash_of_key(std::uint64_t key) noexcept {
  key ^= key >> 32;
  key *= 0x9E37'79B9'7F4A'7C15U;
  key ^= key >> 29;
  key *= 0xBF58'476D'1CE4'E5B9U;
  return key ^ (key >> 32);
}

// Entries of a leaf, children of any other node.
inline constexpr std::uint32_t kTreeFan = 16;

// An element of a Region<TreeNode>, a B+-tree whose root is element 0. Keys ascend; in a node that
// is not a leaf, children[i] has the keys from keys[i] on. Zeroed memory is an empty tree.
struct TreeNode {
  std::uint32_t count = 0;
  std::uint32_t height = 0;  // 0: a leaf
  std::array<std::uint64_t, kTreeFan> keys{};
  std::array<std::uint64_t, kTreeFan> values{};  // of a leaf; else the children's indices
  std::uint64_t next = 0;                        // of a leaf: the one to its right; 0: none
};
GODWIT_STRUCT(TreeNode, count, height, keys, values, next);

struct TreeEntry {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};
GODWIT_STRUCT(TreeEntry, key, value);

struct Found {
  std::uint64_t at = 0;  // the element that holds it
  std::uint64_t value = 0;
  friend bool operator==(const Found&, const Found&) = default;
};

// --- Traversals under way -----------------------------------------------------------------------

// One search for a key: what travels, and what comes back.
struct Search {
  static constexpr std::uint64_t kUnderWay = 0;  // not over: to go on from `at`
  static constexpr std::uint64_t kFound = 1;
  static constexpr std::uint64_t kAbsent = 2;
  static constexpr std::uint64_t kBroken = 3;  // the element at `at` cannot be what it should be

  std::uint64_t at = 0;  // the element that is next to be looked at, or where the key was found
  std::uint64_t key = 0;
  std::uint64_t value = 0;  // if found
  std::uint64_t left = 0;   // elements that it may still look at: no circle lasts
  std::uint64_t state = kUnderWay;
  friend bool operator==(const Search&, const Search&) = default;
};
GODWIT_STRUCT(Search, at, key, value, left, state);

// What a table had under a key.
struct HashAnswer {
  std::uint64_t found = 0;  // 1: there was an entry
  std::uint64_t value = 0;
};
GODWIT_STRUCT(HashAnswer, found, value);

}  // namespace godwit::ops
