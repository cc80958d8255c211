#include "call/code_holders.hpp"

namespace godwit::call {

void CodeHolders::note(const ContentId& bundle, NodeId node) {
  auto [known, is_new] = by_bundle_.try_emplace(bundle);
  if (is_new) known->second = entries_.insert(entries_.end(), {bundle, {}});
  entries_.splice(entries_.end(), entries_, known->second);
  std::vector<NodeId>& nodes = known->second->nodes;
  std::erase(nodes, node);
  nodes.insert(nodes.begin(), node);
  if (nodes.size() > kMaxHolders) nodes.pop_back();
  if (entries_.size() > kMaxBundles) {
    by_bundle_.erase(entries_.front().bundle);
    entries_.pop_front();
  }
}

void CodeHolders::drop(const ContentId& bundle, NodeId node) {
  const auto known = by_bundle_.find(bundle);
  if (known == by_bundle_.end()) return;
  std::erase(known->second->nodes, node);
  if (!known->second->nodes.empty()) return;
  entries_.erase(known->second);
  by_bundle_.erase(known);
}

std::span<const NodeId> CodeHolders::of(const ContentId& bundle) const {
  const auto known = by_bundle_.find(bundle);
  if (known == by_bundle_.end()) return {};
  return known->second->nodes;
}

}  // namespace godwit::call
