// The steps of godwit's own searches, for mobile code that makes them part of its own.
//
//   godwit::Next<ops::Search> find(godwit::Here& here, std::uint64_t region, ops::Search search) {
//     auto list = here.region<ops::ListNode>(region);
//     while (ops::step(list, search)) {}
//     if (!ops::is_under_way(search)) return search;
//     return here.continue_at<find>(list.owner(search.at), region, search);
//   }
#pragma once

#include <algorithm>
#include <cstdint>

#include "godwit/mobile/region.hpp"
#include "godwit/ops/layout.hpp"

namespace godwit::ops {

[[nodiscard]] inline bool is_under_way(const Search& search) noexcept {
  return search.state == Search::kUnderWay && search.left > 0;
}

// What the element at search.at means for a search that is under way. False: it is over.
inline bool advance(const ListNode& node, Search& search) {
  --search.left;
  if (node.key == search.key) {
    search.state = Search::kFound;
    search.value = node.value;
    return false;
  }
  search.at = node.next;
  if (node.next == kNowhere) search.state = Search::kAbsent;
  return search.state == Search::kUnderWay;
}

// How many of the node's keys are not above `key`; its count must be that of a node.
[[nodiscard]] inline std::uint32_t keys_up_to(const TreeNode& node, std::uint64_t key) {
  const std::uint64_t* const keys = node.keys.data();
  return static_cast<std::uint32_t>(std::upper_bound(keys, keys + node.count, key) - keys);
}

// The same for a tree, from the root (element 0) down.
inline bool advance(const TreeNode& node, Search& search) {
  --search.left;
  if (node.count > kTreeFan) {
    search.state = Search::kBroken;
    return false;
  }
  const std::uint32_t below = keys_up_to(node, search.key);
  if (below == 0) {
    search.state = Search::kAbsent;
  } else if (node.height > 0) {
    search.at = node.values[below - 1];
  } else {
    search.state = node.keys[below - 1] == search.key ? Search::kFound : Search::kAbsent;
    search.value = node.values[below - 1];
  }
  return search.state == Search::kUnderWay;
}

// Looks at the next element if it lies on this node. False: it does not, or the search is over.
template <class Node>
[[nodiscard]] bool step(const RegionView<Node>& region, Search& search) {
  if (!is_under_way(search) || !region.owns(search.at)) return false;
  return advance(region[search.at], search);
}

}  // namespace godwit::ops
