// The memory of homes on this host, and which homes are.
#pragma once

#include <chrono>
#include <mutex>
#include <unordered_set>

#include "ref/access/access.hpp"

namespace godwit::ref {

// Any thread.
class ObjectAccess::Mappings {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  explicit Mappings(AccessHost& host) : host_(host) {}

  // Null: objects of that home are not to be mapped here. Errors: those of the host.
  [[nodiscard]] Result<SegmentMap::Mapped> get(const SegmentKey& key,
                                               std::chrono::nanoseconds at_most = kPatience);
  // As far as is known: get() was tried.
  [[nodiscard]] bool is_far(NodeId home) {
    const std::lock_guard lock(mutex_);
    return elsewhere_.contains(home);
  }

 private:
  AccessHost& host_;
  std::mutex mutex_;
  std::unordered_set<NodeId> elsewhere_;
};

}  // namespace godwit::ref
