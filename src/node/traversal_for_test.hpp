// Lists, trees and graphs in plain memory, for tests of those in regions.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "godwit/ops/graph.hpp"
#include "godwit/ops/hash_table.hpp"
#include "godwit/ops/list.hpp"
#include "godwit/ops/many.hpp"
#include "godwit/ops/tree.hpp"
#include "node/region_for_test.hpp"

namespace godwit::node {

using ops::Found;
using ops::ListNode;
using ops::TreeEntry;
using ops::TreeNode;

template <class R>
void expect_refused(const Outcome<R>& outcome, std::string_view says) {
  const Failure failure = failure_of(outcome);
  EXPECT_EQ(failure.reason, ErrorCode::invalid_argument) << to_string(failure);
  EXPECT_NE(failure.message.find(says), std::string::npos) << failure.message;
}

// A list through all elements in random order: key 10 * i at its i-th node, value i.
struct ListModel {
  std::vector<ListNode> nodes;
  std::vector<std::uint64_t> order;

  explicit ListModel(std::size_t size) : nodes(size), order(size) {
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::ranges::shuffle(order, std::mt19937_64(size));
    for (std::size_t i = 0; i < size; ++i) {
      nodes[order[i]] = {10 * i, i, i + 1 < size ? order[i + 1] : ops::kNowhere};
    }
  }
  [[nodiscard]] std::optional<Found> find(std::uint64_t first, std::uint64_t key) const {
    for (std::uint64_t at = first; at != ops::kNowhere; at = nodes[at].next) {
      if (nodes[at].key == key) return Found{at, nodes[at].value};
    }
    return {};
  }
};

inline std::vector<TreeEntry> sorted_entries(std::size_t count) {
  std::mt19937_64 random(count);
  std::set<std::uint64_t> keys;
  while (keys.size() < count) keys.insert(random() % (100 * count));
  std::vector<TreeEntry> entries;
  for (const std::uint64_t key : keys) entries.push_back({key, random()});
  return entries;
}

struct Rows {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> targets;

  Rows(std::uint64_t vertices, std::uint64_t degree) {
    std::mt19937_64 random(vertices);
    for (std::uint64_t v = 0; v < vertices; ++v) {
      for (std::uint64_t e = random() % (2 * degree); e > 0; --e)
        targets.push_back(random() % vertices);
      offsets.push_back(targets.size());
    }
  }
  [[nodiscard]] std::vector<std::uint64_t> k_hop(std::uint64_t from, std::uint32_t hops) const {
    std::set<std::uint64_t> reached{from};
    std::set<std::uint64_t> level{from};
    for (std::uint32_t hop = 0; hop < hops; ++hop) {
      std::set<std::uint64_t> next;
      for (const std::uint64_t v : level) {
        for (std::uint64_t e = offsets[v]; e < offsets[v + 1]; ++e) {
          if (reached.insert(targets[e]).second) next.insert(targets[e]);
        }
      }
      level = next;
    }
    return {reached.begin(), reached.end()};
  }
};

}  // namespace godwit::node
