// Searches a B+-tree from its root down, and reads its leaves from left to right.
#include <godwit/mobile/std.hpp>

#include <algorithm>

#include "traversal.hpp"
#include "tree_page.hpp"

namespace godwit::ops {
namespace {

// What lies in a region is only as good as whoever wrote it.
TreeNode node_at(const RegionView<TreeNode>& tree, std::uint64_t index) {
  const TreeNode node = tree[index];
  if (node.count > kTreeFan)
    refuse(kInvalidArgument, "element %llu is no node of a tree: it claims %u entries",
           as_printed(index), node.count);
  return node;
}

// The child under which the first key >= `from` lies, or the leaf itself.
std::uint64_t child_for(const TreeNode& node, std::uint64_t from) {
  return node.values[std::max(keys_up_to(node, from), 1U) - 1];
}

// Adds the leaf's entries in the range, as many as the page has room for. True: the scan is over.
bool take_entries(const TreeNode& leaf, ScanRequest& request, std::vector<TreeEntry>& entries) {
  for (std::uint32_t i = 0; i < leaf.count; ++i) {
    if (leaf.keys[i] < request.from) continue;
    if (leaf.keys[i] > request.to) return true;
    if (entries.size() == request.limit) {
      request.from = leaf.keys[i];
      return false;
    }
    entries.push_back({leaf.keys[i], leaf.values[i]});
  }
  if (leaf.next == 0 || (!entries.empty() && entries.back().key == request.to)) return true;
  request.at = leaf.next;
  return false;
}

}  // namespace

Next<Search> tree_find(Here& here, std::uint64_t region, Search search) {
  const auto tree = here.region<TreeNode>(region);
  while (step(tree, search)) {
  }
  return answer_or_travel<tree_find>(here, tree, search);
}
GODWIT_EXPORT(tree_find, inline_);

std::vector<Search> tree_find_many(Here& here, std::uint64_t region,
                                   std::span<const Search> searches) {
  const auto tree = here.region<TreeNode>(region);
  return walk_all(searches, [&](Search& search) { return step(tree, search); });
}
GODWIT_EXPORT(tree_find_many, inline_);

// Entries from one node of the fleet after another: a page ends when it is full, or when it has
// something and the next leaf lies elsewhere.
Next<ScanPage> tree_scan(Here& here, std::uint64_t region, ScanRequest request) {
  const auto tree = here.region<TreeNode>(region);
  ScanPage page;
  for (; request.left > 0 && tree.owns(request.at); --request.left) {
    const TreeNode node = node_at(tree, request.at);
    if (node.height > 0) {
      if (node.count == 0)
        refuse(kInvalidArgument, "element %llu has no children", as_printed(request.at));
      request.at = child_for(node, request.from);
      continue;
    }
    const std::uint64_t leaf = request.at;
    if (take_entries(node, request, page.entries)) {
      page.over = 1;
      return page;
    }
    if (page.entries.size() == request.limit && request.at == leaf) break;
  }
  if (!page.entries.empty()) request.from = std::max(request.from, page.entries.back().key + 1);
  page.request = request;
  const bool stuck = request.left == 0 || here.hops_left() == 0;
  if (!page.entries.empty() || stuck || tree.owns(request.at)) return page;
  const Node owner = tree.owner(request.at);
  if (!owner) {
    if (request.at < tree.size())
      refuse(kNodeLost, "the shard of element %llu is lost", as_printed(request.at));
    refuse(kInvalidArgument, "the tree leads to element %llu of %llu", as_printed(request.at),
           as_printed(tree.size()));
  }
  return here.continue_at<tree_scan>(owner, region, request);
}
GODWIT_EXPORT(tree_scan);

}  // namespace godwit::ops
