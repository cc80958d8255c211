// Who may have which bundle: hints, learnt from the code that was given and taken.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"

namespace godwit::call {

// Used by the owning thread alone.
class CodeHolders {
 public:
  // The bundle noted longest ago, and the holder noted longest ago, are forgotten first.
  static constexpr std::size_t kMaxBundles = 4096;
  static constexpr std::size_t kMaxHolders = 4;

  void note(const ContentId& bundle, NodeId node);
  // The node has said that it does not have the bundle.
  void drop(const ContentId& bundle, NodeId node);
  // The latest first. Valid until the next change.
  [[nodiscard]] std::span<const NodeId> of(const ContentId& bundle) const;

 private:
  struct Entry {
    ContentId bundle;
    std::vector<NodeId> nodes;
  };
  std::list<Entry> entries_;  // the one noted longest ago first
  std::unordered_map<ContentId, std::list<Entry>::iterator> by_bundle_;
};

}  // namespace godwit::call
