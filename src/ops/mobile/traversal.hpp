// What the searches share: how one goes on elsewhere, and how many take turns on one node.
#pragma once

#include <godwit/mobile/traversal.hpp>
#include <godwit/mobile/vector.hpp>

#include "shard.hpp"

namespace godwit::ops {

// Elements that all traversals of one message look at together before others have their turn.
inline constexpr std::uint64_t kStepsPerBatch = 4096;

// Answers the caller, or travels to the node that has the next element. `Function` is the caller
// itself; a search that has used up its stay here is answered as under way.
template <auto Function, class T>
Next<Search> answer_or_travel(Here& here, const RegionView<T>& region, const Search& search) {
  if (!is_under_way(search) || region.owns(search.at) || here.hops_left() == 0) return search;
  const Node owner = region.owner(search.at);
  if (!owner) {
    if (search.at < region.size())
      refuse(kNodeLost, "the shard of element %llu is lost", as_printed(search.at));
    refuse(kInvalidArgument, "it leads to element %llu of %llu", as_printed(search.at),
           as_printed(region.size()));
  }
  return here.continue_at<Function>(owner, region.id(), search);
}

// Takes every traversal as far as this node has its elements. One step of each in turn: their loads
// do not wait for each other. step(walk) makes one and says whether it could.
template <class Walk, class Step>
std::vector<Walk> walk_all(std::span<const Walk> given, Step&& step) {
  std::vector<Walk> walks(given.begin(), given.end());
  std::uint64_t left = kStepsPerBatch;
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    left = left > walks.size() ? left - walks.size() : 0;
    for (Walk& walk : walks) {
      if (step(walk)) moved = true;
    }
  }
  return walks;
}

}  // namespace godwit::ops
