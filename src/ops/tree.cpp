#include "godwit/ops/tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "godwit/mobile/std.hpp"
#include "ops/mobile/tree_page.hpp"
#include "ops/search.hpp"

namespace godwit::ops {
namespace {

constexpr SearchKind kInTree{"tree_find", Op::tree_find, Op::tree_find_many};
constexpr const char* kScan = "tree_scan";
// More than any tree has: 16 levels of 16 children each take more elements than a region can have.
constexpr std::uint64_t kMaxHeight = 64;

// Nodes of each level, the root's first.
std::vector<std::uint64_t> level_sizes(std::uint64_t entries) {
  std::vector<std::uint64_t> sizes{std::max<std::uint64_t>((entries + kTreeFan - 1) / kTreeFan, 1)};
  while (sizes.back() > 1) sizes.push_back((sizes.back() + kTreeFan - 1) / kTreeFan);
  std::ranges::reverse(sizes);
  return sizes;
}

// The nodes of one level, which begins at index `first`, over those below, whose least keys are
// `below`; for leaves these are the entries.
struct Level {
  std::uint32_t height = 0;
  std::uint64_t first = 0;
  std::span<const TreeEntry> below;
};

// Appends the level's nodes, and their least keys with their indices.
std::vector<TreeEntry> make_level(const Level& level, std::span<TreeNode> nodes) {
  std::vector<TreeEntry> least;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    TreeNode& node = nodes[n];
    node.height = level.height;
    const auto part =
        level.below.subspan(n * kTreeFan)
            .first(std::min<std::size_t>(kTreeFan, level.below.size() - n * kTreeFan));
    node.count = static_cast<std::uint32_t>(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      node.keys[i] = part[i].key;
      node.values[i] = part[i].value;
    }
    if (level.height == 0 && n + 1 < nodes.size()) node.next = level.first + n + 1;
    least.push_back({node.keys[0], level.first + n});
  }
  return least;
}

Failure bad_input(const Attachment& region, const char* verb, const std::string& why) {
  return {Ending::rejected, ErrorCode::invalid_argument, false,
          fmt::format("{} in region '{}': {}", verb, region.name(), why)};
}

Outcome<ScanPage> page_of(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  return detail::outcome_of<ScanPage>(std::move(call));
}

// A page as the program sees it; none: it is empty, and the scan goes on elsewhere.
std::optional<Outcome<ScanResult>> result_of(const Attachment& region, const ScanCursor& cursor,
                                             ScanPage page) {
  const auto out_of_order = [](const TreeEntry& a, const TreeEntry& b) { return a.key >= b.key; };
  const bool good = std::ranges::adjacent_find(page.entries, out_of_order) == page.entries.end();
  if (!good) {
    return tl::unexpected(bad_input(region, kScan, "the keys of the tree are out of order"));
  }
  ScanCursor next{page.request.from, cursor.to, page.request.at, page.over != 0};
  if (page.entries.empty() && !next.over) {
    if (page.request.left > 0 && region.reaches(next.at + 1)) return std::nullopt;
    return tl::unexpected(
        bad_input(region, kScan, fmt::format("element {} is not where a tree leads to", next.at)));
  }
  return ScanResult{std::move(page.entries), next};
}

Future<ScanResult> scan_page(detail::RegionHandle handle, ScanCursor cursor, std::uint32_t limit) {
  const Attachment& region = handle.attachment();
  if (cursor.over) co_return ScanResult{{}, cursor};
  if (limit == 0 || limit > kMaxPageEntries) {
    co_return Outcome<ScanResult>(tl::unexpected(bad_input(
        region, kScan, fmt::format("a page has 1 to {} entries, not {}", kMaxPageEntries, limit))));
  }
  ScanRequest request{cursor.at, cursor.from, cursor.to, limit, region.elements() + kMaxHeight};
  for (;;) {
    if (auto fits = region.check(kScan, request.at, 1); !fits) {
      co_return Outcome<ScanResult>(tl::unexpected(std::move(fits).error()));
    }
    const Note note = region.note(kScan, request.at, 1, region.map().locate(request.at).shard);
    auto page =
        co_await Future<ScanPage>(region.call(Op::tree_scan, note, region.id(), request), &page_of);
    if (!page) co_return Outcome<ScanResult>(tl::unexpected(page.error()));
    request = page->request;
    if (auto result = result_of(region, cursor, *std::move(page))) co_return *std::move(result);
  }
}

}  // namespace

std::uint64_t tree_nodes(std::uint64_t entries) {
  std::uint64_t nodes = 0;
  for (const std::uint64_t size : level_sizes(entries)) nodes += size;
  return nodes;
}

Outcome<void> build_tree(const Region<TreeNode>& tree, std::span<const TreeEntry> entries) {
  const auto out_of_order = [](const TreeEntry& a, const TreeEntry& b) { return a.key >= b.key; };
  if (const auto bad = std::ranges::adjacent_find(entries, out_of_order); bad != entries.end()) {
    return tl::unexpected(bad_input(
        tree.handle().attachment(), "build_tree",
        fmt::format("key {} is followed by {}: keys must ascend", bad->key, (bad + 1)->key)));
  }
  const std::vector<std::uint64_t> sizes = level_sizes(entries.size());
  std::vector<TreeNode> nodes(tree_nodes(entries.size()));
  std::vector<TreeEntry> below;
  std::uint64_t end = nodes.size();
  for (std::size_t level = sizes.size(); level-- > 0; end -= sizes[level]) {
    const std::uint64_t first = end - sizes[level];
    const auto height = static_cast<std::uint32_t>(sizes.size() - 1 - level);
    below = make_level({height, first, height == 0 ? entries : below},
                       std::span(nodes).subspan(first, sizes[level]));
  }
  return tree.store(0, nodes);
}

Future<std::optional<Found>> find(const Region<TreeNode>& tree, std::uint64_t key,
                                  Mechanism mechanism) {
  return search_by(tree, kInTree, {.at = 0, .key = key, .left = kMaxHeight},
                   {.operation = Operation::tree_find}, mechanism);
}

std::vector<Outcome<std::optional<Found>>> find_many(const Region<TreeNode>& tree,
                                                     std::span<const std::uint64_t> keys) {
  std::vector<Search> searches;
  searches.reserve(keys.size());
  for (const std::uint64_t key : keys) searches.push_back({.key = key, .left = kMaxHeight});
  return search_many(tree.handle().attachment(), kInTree, std::move(searches));
}

Future<ScanResult> scan(const Region<TreeNode>& tree, const ScanCursor& cursor,
                        std::uint32_t limit) {
  return scan_page(tree.handle(), cursor, limit);
}

}  // namespace godwit::ops
