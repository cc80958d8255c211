// One object to many nodes, along a tree: each node makes a copy from its parent's, and has its
// children make theirs from its own, all at the same time. So no node sends more than `fan_out`
// copies while nobody fails, and the last one is there after as many steps as the tree is deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace godwit::ref {

// A child, and those below it.
struct Branch {
  std::uint64_t node = 0;
  std::span<const std::uint64_t> below;
};
// At most `fan_out`, which is not 0, branches of nearly the same size, in which each of the nodes
// is once.
[[nodiscard]] std::vector<Branch> branches_of(std::span<const std::uint64_t> nodes,
                                              std::size_t fan_out);

}  // namespace godwit::ref
