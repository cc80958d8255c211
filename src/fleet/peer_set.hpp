// A set of nodes from which one is picked at random in constant time.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/random.hpp"

namespace godwit::fleet {

class PeerSet {
 public:
  void insert(NodeId node) {
    if (positions_.try_emplace(node, nodes_.size()).second) nodes_.push_back(node);
  }
  void erase(NodeId node) {
    const auto it = positions_.find(node);
    if (it == positions_.end()) return;
    nodes_[it->second] = nodes_.back();
    positions_[nodes_.back()] = it->second;
    nodes_.pop_back();
    positions_.erase(node);
  }
  [[nodiscard]] bool contains(NodeId node) const { return positions_.contains(node); }
  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  // There is at least one.
  [[nodiscard]] NodeId pick(Random& random) const { return nodes_[random.below(nodes_.size())]; }

 private:
  std::vector<NodeId> nodes_;
  std::unordered_map<NodeId, std::size_t> positions_;
};

}  // namespace godwit::fleet
