// The segments of other processes that this one has mapped, and which homes can be mapped at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "ref/access.hpp"

namespace godwit::ref {

// Any thread.
class ObjectAccess::Mappings {
 public:
  // Of address space; those used longest ago, and by nobody now, go first.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 30;
  static constexpr std::size_t kMaxSegments = 1024;
  static constexpr std::chrono::seconds kPatience{10};

  explicit Mappings(AccessHost& host) : host_(host) {}

  // Null: objects of that home are not to be mapped here. Errors: those of the host.
  [[nodiscard]] Result<std::shared_ptr<const MappedSegment>> get(const SegmentKey& key);

 private:
  struct Hash {
    std::size_t operator()(const SegmentKey& key) const noexcept {
      return std::hash<NodeId>()(key.home) ^
             (key.segment * 2 + (key.access == fabric::Access::write ? 1 : 0));
    }
  };
  struct Entry {
    SegmentKey key;
    std::shared_ptr<const MappedSegment> segment;
  };
  void make_room();

  AccessHost& host_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last in front
  std::unordered_map<SegmentKey, std::list<Entry>::iterator, Hash> by_key_;
  std::unordered_map<NodeId, bool> mappable_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::ref
